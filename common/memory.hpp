#pragma once
/// @file
/// @brief The memory of tensors.

#include <cstddef>
#include <new>
#include <string>

/// Memory for `bytes`, at an address that suits vector registers and BLAS.
///
/// From 2 MB upwards it asks Linux for large pages. A new matrix costs a page fault for each page
/// that is first written, and a forward pass makes many matrices: with 2,048 tokens, large pages
/// make it four times as fast.
/// @throws std::bad_alloc
void* allocate_tensor(std::size_t bytes);

/// Frees memory from `allocate_tensor`.
void free_tensor(void* memory) noexcept;

/// The bytes that `allocate_tensor` has handed out since the program began, including those freed
/// since.
std::size_t allocated_bytes() noexcept;

/// `allocate_tensor` as an allocator for the C++ library and xtensor.
template <class T>
struct TensorAllocator {
  using value_type = T;

  TensorAllocator() = default;
  template <class U>
  TensorAllocator(const TensorAllocator<U>&) noexcept {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_tensor(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { free_tensor(memory); }

  friend bool operator==(const TensorAllocator&, const TensorAllocator&) { return true; }
  friend bool operator!=(const TensorAllocator&, const TensorAllocator&) { return false; }
};

/// The memory that a program can still have, in bytes: what the system calls available or, if that
/// is less, what the limits of its container (cgroups, either version) or `ulimit -v` leave. Memory
/// in which the system keeps files that were read counts as available.
/// @param root  where /proc and /sys are, for tests
double available_memory(const std::string& root = "");

/// Rejects what wouldn't fit into memory, before any of it is allocated.
/// @param what  the subject of the message, such as "a model with 12 layers"
/// @throws std::runtime_error with both numbers of bytes
void require_memory(double bytes, const std::string& what);
