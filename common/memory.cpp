#include "common/memory.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t large_page = std::size_t{2} << 20;

std::atomic<std::size_t> given_out = 0;

/// Lets the C library keep what is freed for the next matrix, where it would give it back to the
/// system and ask anew.
bool keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int largest_kept = 32 << 20;  // one matrix; the most that glibc allows
  constexpr int kept_in_all = 1 << 30;
  return mallopt(M_MMAP_THRESHOLD, largest_kept) == 1 &&
         mallopt(M_TRIM_THRESHOLD, kept_in_all) == 1;
#else
  return false;
#endif
}

}  // namespace

void* allocate_tensor(std::size_t bytes) {
  [[maybe_unused]] static const bool kept = keep_freed_memory();
  const std::size_t alignment = bytes >= large_page ? large_page : cache_line;
  if (bytes > static_cast<std::size_t>(-1) - alignment) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  given_out.fetch_add(bytes, std::memory_order_relaxed);
#ifdef MADV_HUGEPAGE
  if (bytes >= large_page)
    madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: failing changes nothing
#endif
  return memory;
}

std::size_t allocated_bytes() noexcept {
  return given_out.load(std::memory_order_relaxed);
}

void free_tensor(void* memory) noexcept {
  std::free(memory);
}

double available_memory() {
  double available =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::ifstream system("/proc/meminfo");
  for (std::string name; system >> name;) {
    double kibibytes = 0;
    if (name == "MemAvailable:" && system >> kibibytes) available = 1024 * kibibytes;
  }
  std::ifstream container("/sys/fs/cgroup/memory.max");
  std::ifstream used("/sys/fs/cgroup/memory.current");
  double limit = 0;
  double current = 0;
  if (container >> limit && used >> current) {
    available = std::min(available, std::max(limit - current, 0.0));
  }
  return available;
}

void require_memory(double bytes, const std::string& what) {
  const double available = available_memory();
  if (bytes <= available) return;
  throw std::runtime_error(fmt::format(
      "{} would need {:.0f} bytes of memory ({:.1f} GB), but {:.0f} ({:.1f} GB) are available",
      what, bytes, bytes / 1e9, available, available / 1e9));
}
