# What every file of the book is compiled with: the target `book_flags`.
#
# xtensor is a system library here, so that its own warnings do not drown the reader's. Whether xsimd is used
# changes xtensor's allocator, so all files must agree on it: it is set here and nowhere else.

find_package(xtensor REQUIRED)

# A causal mask is made of -infinity, and these flags allow the compiler to assume that there is none. They may come from
# CXXFLAGS, CMAKE_CXX_FLAGS or the compiler's name, so the compiler itself is asked.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_QUIET ON)
set(CMAKE_TRY_COMPILE_CONFIGURATION "${CMAKE_BUILD_TYPE}")
unset(ATTENTION_KEEPS_INFINITY CACHE)
check_cxx_source_compiles("
  #if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
  #error infinity is not kept
  #endif
  int main() {}" ATTENTION_KEEPS_INFINITY)
unset(CMAKE_REQUIRED_QUIET)
if(NOT ATTENTION_KEEPS_INFINITY)
  message(FATAL_ERROR "With -ffast-math, -Ofast or -ffinite-math-only the compiler assumes that no number is infinite, but a "
    "causal mask is made of -infinity; please take that flag out of CXXFLAGS or CMAKE_CXX_FLAGS.")
endif()

add_library(book_flags INTERFACE)
target_include_directories(book_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(book_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
target_link_libraries(book_flags INTERFACE xtensor)

# g++ 12 takes the registers that its own <avx512fintrin.h> leaves undefined on purpose for a bug in our code.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(book_flags INTERFACE -Wno-maybe-uninitialized)
  # g++ 13 and 14 believe that xtensor copies two sizes into a shape of one, where it compares the numbers of axes first.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(book_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()

# Loops over rows are to become vector instructions: g++ 12 thinks that too dear at -O2 unless told otherwise, and
# both compilers keep away from square roots that may have to set errno.
target_compile_options(book_flags INTERFACE -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(book_flags INTERFACE -fvect-cost-model=dynamic)
endif()

if(ATTENTION_WERROR)
  target_compile_options(book_flags INTERFACE -Werror)
endif()
if(ATTENTION_DOUBLE)
  target_compile_definitions(book_flags INTERFACE ATTENTION_DOUBLE)
endif()
if(ATTENTION_CHECK_ACCESS)
  target_compile_definitions(book_flags INTERFACE XTENSOR_ENABLE_ASSERT)
endif()

if(ATTENTION_XSIMD)
  find_package(xsimd QUIET)
endif()
if(ATTENTION_XSIMD AND xsimd_FOUND)
  target_compile_definitions(book_flags INTERFACE XTENSOR_USE_XSIMD)
  target_link_libraries(book_flags INTERFACE xsimd)
endif()

if(ATTENTION_NATIVE)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-march=native ATTENTION_HAS_MARCH_NATIVE)
  if(ATTENTION_HAS_MARCH_NATIVE)
    target_compile_options(book_flags INTERFACE -march=native)
  endif()
endif()

if(ATTENTION_SANITIZE)
  target_compile_options(book_flags INTERFACE -fsanitize=${ATTENTION_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(book_flags INTERFACE -fsanitize=${ATTENTION_SANITIZE})
endif()
