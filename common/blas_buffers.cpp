#include "common/blas_buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <semaphore>
#include <stdexcept>

#ifdef __linux__
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

// These are there when the BLAS is OpenBLAS, and null when it's another one.
extern "C" [[gnu::weak]] char* openblas_get_config();

namespace {

/// How many products OpenBLAS can compute at once: "… MAX_THREADS=64".
std::ptrdiff_t most_turns() {
  constexpr std::ptrdiff_t unlimited = 1024;
  if (openblas_get_config == nullptr) return unlimited;
  const char* config = openblas_get_config();
  const char* found = std::strstr(config, "MAX_THREADS=");
  const long most = found == nullptr ? 1 : std::atol(found + std::strlen("MAX_THREADS="));
  return std::clamp<std::ptrdiff_t>(most, 1, unlimited);
}

/// Whether OpenBLAS will get the memory for one more buffer.
bool has_memory_for_a_buffer() {
#ifdef __linux__
  if (openblas_get_config == nullptr) return true;
  constexpr std::size_t buffer = std::size_t{128} << 20;
  constexpr std::size_t spare = std::size_t{32} << 20;  // other threads may allocate meanwhile
  void* room =
      mmap(nullptr, buffer + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, buffer + spare);
#endif
  return true;
}

/// The buffers that OpenBLAS has reserved so far, or is just about to: it keeps them.
class Buffers {
 public:
  void take() {
    if (free_.try_acquire()) return;
    {
      const std::lock_guard lock(mutex_);
      if (count_ < most_ && has_memory_for_a_buffer()) {
        ++count_;
        return;
      }
      if (count_ == 0) {
        throw std::runtime_error(
            "OpenBLAS needs 128 MB of addresses to multiply matrices, and the system refuses them: "
            "is there a limit (ulimit -v)?");
      }
    }
    free_.acquire();
  }

  void give_back() { free_.release(); }

 private:
  std::mutex mutex_;
  std::ptrdiff_t count_ = 0;
  const std::ptrdiff_t most_ = most_turns();
  std::counting_semaphore<> free_{0};
};

Buffers& buffers() {
  static Buffers all;
  return all;
}

}  // namespace

BlasTurn::BlasTurn() {
  buffers().take();
}

BlasTurn::~BlasTurn() {
  buffers().give_back();
}

#if defined(__linux__) && defined(__GLIBC__)

namespace {

constexpr const char* one_thread = "OPENBLAS_NUM_THREADS=1";

bool is_setting_of_threads(const char* entry) {
  return std::strncmp(entry, one_thread, std::strlen(one_thread) - 1) == 0;
}

/// Where addresses are limited (`ulimit -v`), OpenBLAS would wait for ever for its threads' buffers
/// as soon as it is loaded, before `main`. Its threads are not needed, so the program starts once
/// more without them. Nothing but system calls may be used here: no library is ready yet.
void start_again_without_threads(int argc, char** argv, char** environment) {
  constexpr std::size_t most_entries = 4096;
  static char* changed[most_entries];
  rlimit addresses{};
  if (openblas_get_config == nullptr || argc < 1 || getrlimit(RLIMIT_AS, &addresses) != 0 ||
      addresses.rlim_cur == RLIM_INFINITY) {
    return;
  }
  std::size_t count = 0;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strcmp(*entry, one_thread) == 0) return;
    if (is_setting_of_threads(*entry)) continue;
    if (count + 2 >= most_entries) return;
    changed[count++] = *entry;
  }
  changed[count] = const_cast<char*>(one_thread);
  execve("/proc/self/exe", argv, changed);
}

/// Functions in this section run before the initialisation of shared libraries.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const run_first)(int, char**, char**) = start_again_without_threads;

}  // namespace

#endif
