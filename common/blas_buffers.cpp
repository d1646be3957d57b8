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
#endif

// These are there when the BLAS is OpenBLAS, and null when it's another one.
extern "C" [[gnu::weak]] char* openblas_get_config();

namespace {

/// How many products OpenBLAS can compute at once: "… MAX_THREADS=64". Where addresses are limited
/// (`ulimit -v`), one for each gigabyte: two threads that find room for a buffer at the same moment
/// would otherwise take it from each other.
std::ptrdiff_t most_turns() {
  constexpr std::ptrdiff_t unlimited = 1024;
  if (openblas_get_config == nullptr) return unlimited;
  const char* config = openblas_get_config();
  const char* found = std::strstr(config, "MAX_THREADS=");
  std::ptrdiff_t most = found == nullptr ? 1 : std::atol(found + std::strlen("MAX_THREADS="));
#ifdef __linux__
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    most = std::min(most, static_cast<std::ptrdiff_t>(addresses.rlim_cur >> 30));
  }
#endif
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
