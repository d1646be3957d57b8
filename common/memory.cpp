#include "common/memory.hpp"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t large_page = std::size_t{2} << 20;

}  // namespace

void* allocate_tensor(std::size_t bytes) {
  const std::size_t alignment = bytes >= large_page ? large_page : cache_line;
  if (bytes > static_cast<std::size_t>(-1) - alignment) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (bytes >= large_page)
    madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: failing changes nothing
#endif
  return memory;
}

void free_tensor(void* memory) noexcept {
  std::free(memory);
}
