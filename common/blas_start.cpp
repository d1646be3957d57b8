/// @file
/// @brief Starts the program once more where OpenBLAS, which reads its settings from the
/// environment before `main`, would hang or be several times slower than this processor allows.

#include <cstddef>
#include <cstring>
#include <initializer_list>

#if defined(__linux__) && defined(__GLIBC__)

#include <sys/resource.h>
#include <unistd.h>

// These are there when the BLAS is OpenBLAS, and null when it's a different one.
extern "C" [[gnu::weak]] char* openblas_get_config();
extern "C" [[gnu::weak]] char* openblas_get_corename();

namespace {

/// Whether an entry of the environment sets the same variable as `setting`.
bool sets_the_same(const char* entry, const char* setting) {
  const char* end_of_name = std::strchr(setting, '=');
  return std::strncmp(entry, setting, static_cast<std::size_t>(end_of_name - setting) + 1) == 0;
}

/// Starts the program from its beginning, with these variables in its environment; goes on without
/// them if they're there already, or can't be added. Only system calls are used, because
/// no library may be ready.
void start_again_with(std::initializer_list<const char*> settings, char** argv,
                      char** environment) {
  constexpr std::size_t most_entries = 4096;
  static char* changed[most_entries];
  std::size_t count = 0;
  std::size_t set_already = 0;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const char* setting : settings) {
      if (std::strcmp(*entry, setting) == 0) ++set_already;
      if (sets_the_same(*entry, setting)) replaced = true;
    }
    if (replaced) continue;
    if (count + settings.size() + 1 > most_entries) return;
    changed[count++] = *entry;
  }
  if (set_already >= settings.size()) return;
  for (const char* setting : settings) changed[count++] = const_cast<char*>(setting);
  execve("/proc/self/exe", argv, changed);
}

/// Where addresses are limited (`ulimit -v`), OpenBLAS would wait for ever for the buffers of its
/// threads as soon as it's loaded. Its threads aren't needed; and a heap for each of the
/// program's own threads would take another 128 MB of addresses.
void save_addresses(int argc, char** argv, char** environment) {
  rlimit addresses{};
  if (openblas_get_config == nullptr || argc < 1 || getrlimit(RLIMIT_AS, &addresses) != 0 ||
      addresses.rlim_cur == RLIM_INFINITY) {
    return;
  }
  start_again_with({"OPENBLAS_NUM_THREADS=1", "MALLOC_ARENA_MAX=1"}, argv, environment);
}

/// An OpenBLAS that's older than the processor doesn't know it, and takes the kernels of the
/// Pentium 4 ("Prescott"): a third of the speed. The kernels of the first processors with the same
/// instructions run as well. Whoever sets OPENBLAS_CORETYPE has chosen.
void choose_kernels([[maybe_unused]] int argc, [[maybe_unused]] char** argv,
                    [[maybe_unused]] char** environment) {
#ifdef __x86_64__
  if (openblas_get_corename == nullptr || argc < 1) return;
  if (std::strcmp(openblas_get_corename(), "Prescott") != 0) return;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (sets_the_same(*entry, "OPENBLAS_CORETYPE=")) return;
  }
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
    start_again_with({"OPENBLAS_CORETYPE=SkylakeX"}, argv, environment);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    start_again_with({"OPENBLAS_CORETYPE=Haswell"}, argv, environment);
  }
#endif
}

/// Functions in this section run before the initialisation of shared libraries, …
[[gnu::section(".preinit_array"), gnu::used]] void (*const run_first)(int, char**,
                                                                      char**) = save_addresses;

/// … and functions in this one after it, when OpenBLAS has chosen.
[[gnu::section(".init_array"), gnu::used]] void (*const run_before_main)(int, char**,
                                                                         char**) = choose_kernels;

}  // namespace

#endif
