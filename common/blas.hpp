#pragma once
/// @file
/// @brief Which library multiplies the matrices. There are slow ones.

#include <optional>
#include <string>

/// The library that answers when a matrix product is asked for, by name and, where it tells, by
/// version: "BLIS 0.9.0", "reference BLAS"; "none: plain loops" where there is none.
/// "OpenBLAS 0.3.21 (SkylakeX)" also names the processor whose kernels OpenBLAS uses: see
/// blas_start.cpp.
///
/// The name is the library's own word while the program runs, not what it was built with: the
/// system's administrator, or LD_PRELOAD, may put another in its place.
std::string blas_name();

/// What to tell somebody who is about to wait for many matrix products: a line that names the
/// library and says what to install, if it is slow.
std::optional<std::string> slow_blas_warning();
