#include "common/memory.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/resource.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t large_page = std::size_t{2} << 20;

constexpr double unlimited = std::numeric_limits<double>::infinity();

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

/// The number after a name in a file of names and numbers.
std::optional<double> entry(const std::string& file, const std::string& wanted) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    double number = 0;
    if (words >> name >> number && name == wanted) return number;
  }
  return std::nullopt;
}

std::optional<double> number_in(const std::string& file) {
  double number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

/// What a group of processes can still have, such as a container: its limit less what is used.
/// What the system only keeps of files, to read them faster, it gives up when memory is needed.
double left_in_group(const std::string& folder, bool first_version) {
  const auto limit = number_in(folder + (first_version ? "/memory.limit_in_bytes" : "/memory.max"));
  const auto used =
      number_in(folder + (first_version ? "/memory.usage_in_bytes" : "/memory.current"));
  if (!limit || !used) return unlimited;
  double reclaimable = 0;
  for (const char* kind : {"inactive_file", "active_file", "slab_reclaimable"}) {
    const std::string name = (first_version ? "total_" : "") + std::string(kind);
    reclaimable += entry(folder + "/memory.stat", name).value_or(0);
  }
  return *limit - std::max(0.0, *used - reclaimable);
}

/// The same for a group and all around it.
/// @param line  of /proc/self/cgroup, "0::/group" or, in the first version, "4:memory:/group"
double left_in_groups(const std::string& mount, const std::string& line) {
  const std::size_t first = std::min(line.size(), line.find(':'));
  const std::size_t second = line.find(':', first + 1);
  if (second == line.npos) return unlimited;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const bool first_version = controllers != ",,";
  if (first_version && controllers.find(",memory,") == controllers.npos) return unlimited;
  const std::string base = mount + (first_version ? "/memory" : "");
  const std::string group = line.substr(second + 1);
  double left = left_in_group(base, first_version);  // in a container, its own group is seen there
  for (std::size_t end = group.size(); end > 0 && end != group.npos;
       end = group.rfind('/', end - 1)) {
    left = std::min(left, left_in_group(base + group.substr(0, end), first_version));
  }
  return left;
}

/// How much `ulimit -v` lets the program have on top of what it has.
double addresses_left() {
#ifdef __linux__
  rlimit limit{};
  const auto pages = number_in("/proc/self/statm");
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && pages) {
    return static_cast<double>(limit.rlim_cur) -
           *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
#endif
  return unlimited;
}

}  // namespace

void* allocate_tensor(std::size_t bytes) {
  [[maybe_unused]] static const bool kept = keep_freed_memory();
  const std::size_t alignment = bytes >= large_page ? large_page : cache_line;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, std::max(bytes, cache_line)) != 0) throw std::bad_alloc();
  given_out.fetch_add(bytes, std::memory_order_relaxed);
#ifdef MADV_HUGEPAGE
  // A wish: failing changes nothing. A page of which the tensor has only a part stays small, or it
  // would take up to 2 MB more than the tensor has.
  if (bytes >= large_page) madvise(memory, bytes / large_page * large_page, MADV_HUGEPAGE);
#endif
  return memory;
}

std::size_t allocated_bytes() noexcept {
  return given_out.load(std::memory_order_relaxed);
}

void free_tensor(void* memory) noexcept {
  std::free(memory);
}

double available_memory(const std::string& root) {
  double available =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  available = 1024 * entry(root + "/proc/meminfo", "MemAvailable:").value_or(available / 1024);
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    available = std::min(available, left_in_groups(root + "/sys/fs/cgroup", line));
  }
  return std::max(0.0, std::min(available, addresses_left()));
}

void require_memory(double bytes, const std::string& what) {
  const double available = available_memory();
  if (bytes <= available) return;
  throw std::runtime_error(fmt::format(
      "{} would need {:.0f} bytes of memory ({:.1f} GB), but {:.0f} ({:.1f} GB) are available",
      what, bytes, bytes / 1e9, available, available / 1e9));
}
