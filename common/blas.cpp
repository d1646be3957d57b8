/// @file
/// @brief Asks the BLAS that is loaded what it is.

#include "common/blas.hpp"

#include <fmt/core.h>

#include "common/tensor.hpp"

#ifdef ATTENTION_BLAS

#include <dlfcn.h>

#include "common/cblas.hpp"

namespace {

/// Without it the linker leaves the library out of programs that multiply no matrices.
[[gnu::used]] constexpr auto needed = &cblas_sgemm;

/// The file of the library that has the matrix product; empty if it was linked into the program.
std::string library_file() {
  void* product = dlsym(RTLD_DEFAULT, "cblas_sgemm");
  Dl_info info;
  const bool known = product != nullptr && dladdr(product, &info) != 0;
  return known && info.dli_fname != nullptr ? info.dli_fname : "";
}

/// A function or a variable of the library that has the matrix product, or of those that this one
/// needs in turn; null when they have none of that name. (Another BLAS may also be loaded.)
void* in_library(const char* name) {
  static const std::string file = library_file();
  static void* const library =
      file.empty() ? nullptr : dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return dlsym(library == nullptr ? RTLD_DEFAULT : library, name);
}

template <class Function>
Function* function(const char* name) {
  return reinterpret_cast<Function*>(in_library(name));
}

/// OpenBLAS says "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
std::string two_words_of(const std::string& text) {
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

constexpr const char* reference = "reference BLAS";

}  // namespace

std::string blas_name() {
  if (auto* config = function<const char*()>("openblas_get_config")) {
    auto* kernels = function<const char*()>("openblas_get_corename");
    return fmt::format("{} ({})", two_words_of(config()), kernels ? kernels() : "unknown kernels");
  }
  if (auto* version = function<const char*()>("bli_info_get_version_str")) {
    return fmt::format("BLIS {}", version());
  }
  if (in_library("mkl_get_version_string") != nullptr) return "MKL";
  if (in_library("flexiblas_get_version") != nullptr) return "FlexiBLAS";
  if (in_library("ATL_buildinfo") != nullptr) return "ATLAS";
  const std::string file = library_file();
  if (file.find("/Accelerate.framework/") != std::string::npos) return "Accelerate";
  // A variable that the authors of the reference left in their C interface.
  if (in_library("RowMajorStrg") != nullptr) return reference;
  return fmt::format("an unknown BLAS ({})", file.empty() ? "part of the program" : file);
}

std::optional<std::string> slow_blas_warning() {
  if (blas_name() != reference) return std::nullopt;
  return "This is the reference BLAS, which takes many times as long as OpenBLAS for the matrix "
         "products. To install "
         "OpenBLAS, type: common/setup build";
}

void use_one_thread_a_product() {
  if (auto* set_threads = function<void(int)>("openblas_set_num_threads")) set_threads(1);
}

#else

std::string blas_name() {
  return "none: plain loops";
}

std::optional<std::string> slow_blas_warning() {
  return "There is no BLAS in this build, and plain loops take many times as long as OpenBLAS for "
         "the matrix products. To "
         "install OpenBLAS, type: common/setup build";
}

void use_one_thread_a_product() {}

#endif
