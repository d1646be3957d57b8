# Finds a BLAS with C's interface (CBLAS) for the matrix products: OpenBLAS where there is one, else whatever CMake knows,
# else none. Sets ATTENTION_BLAS_LIBRARIES, which is empty if there is none. Whoever sets BLA_VENDOR gets that BLAS:
# -DBLA_VENDOR=FLAME, Intel10_64lp, Apple, Generic, ...

include(CheckCXXSourceCompiles)

# Sets result to whether a program that calls CBLAS can be linked with these libraries.
function(check_cblas result)
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  set(CMAKE_REQUIRED_QUIET ON)
  unset(ATTENTION_CBLAS_LINKS CACHE)
  check_cxx_source_compiles("extern \"C\" void cblas_sgemm(); int main() { cblas_sgemm(); }" ATTENTION_CBLAS_LINKS)
  set(${result} "${ATTENTION_CBLAS_LINKS}" PARENT_SCOPE)
  unset(ATTENTION_CBLAS_LINKS CACHE)
endfunction()

set(ATTENTION_BLAS_LIBRARIES "")

if(NOT BLA_VENDOR AND NOT DEFINED ENV{BLA_VENDOR})
  # OpenBLAS is linked under its own name. The name libblas.so stands for the BLAS that this system prefers, and that can
  # be a slow one. Fedora and openSUSE have several OpenBLAS; the book's threads need one that knows of threads.
  configure_again_when_found(libopenblas.so libopenblasp.so libopenblas_pthreads.so)
  if(OPENBLAS_LIBRARY AND NOT EXISTS "${OPENBLAS_LIBRARY}")
    unset(OPENBLAS_LIBRARY CACHE)   # it has been removed since
  endif()
  find_library(OPENBLAS_LIBRARY
    NAMES openblasp openblas_pthreads openblas
    HINTS "$ENV{HOMEBREW_PREFIX}/opt/openblas" /opt/homebrew/opt/openblas /usr/local/opt/openblas
    PATH_SUFFIXES lib)
  if(OPENBLAS_LIBRARY)
    check_cblas(works "${OPENBLAS_LIBRARY}")
    if(works)
      set(ATTENTION_BLAS_LIBRARIES "${OPENBLAS_LIBRARY}")
    endif()
  endif()
endif()

if(NOT ATTENTION_BLAS_LIBRARIES)
  find_package(BLAS QUIET)
  if(BLAS_FOUND)
    check_cblas(works ${BLAS_LIBRARIES})
    if(works)
      set(ATTENTION_BLAS_LIBRARIES ${BLAS_LIBRARIES})
    else()
      # Some systems have C's interface to it in a separate library.
      find_library(CBLAS_LIBRARY cblas)
      if(CBLAS_LIBRARY)
        check_cblas(works "${CBLAS_LIBRARY}" ${BLAS_LIBRARIES})
        if(works)
          set(ATTENTION_BLAS_LIBRARIES "${CBLAS_LIBRARY}" ${BLAS_LIBRARIES})
        endif()
      endif()
    endif()
  endif()
endif()

if(ATTENTION_BLAS_LIBRARIES)
  message(STATUS "BLAS: ${ATTENTION_BLAS_LIBRARIES}")
else()
  message(STATUS "BLAS: none, so matrices are multiplied by plain loops; `common/setup build` installs OpenBLAS")
endif()
