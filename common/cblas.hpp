#pragma once
/// @file
/// @brief C's interface to BLAS, which is the same in every BLAS; the header that declares it goes
/// by a different name in each, so the two functions that the book calls are declared here.

extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int leading_a, const float* b, int leading_b, float beta, float* c,
                 int leading_c);
void cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                 const double* a, int leading_a, const double* b, int leading_b, double beta,
                 double* c, int leading_c);
}
