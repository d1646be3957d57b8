#pragma once
/// @file
/// @brief Pieces of work shared among threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

/// How many threads to use where nobody says: one for each processor, but not more than can
/// multiply matrices at the same time in OpenBLAS as it is usually built.
inline std::size_t usual_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1U, 64U);
}

/// Calls work(piece, thread) once for each piece from 0 to pieces - 1, on up to `threads` threads,
/// and returns when all are done. Which thread gets which piece is left to chance; so nothing that
/// is computed may depend on `thread`, which only says whose work space to use.
/// @throws what a call threw that failed; pieces that were not yet begun are left out
inline void in_parallel(std::size_t pieces, std::size_t threads,
                        const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take_pieces = [&](std::size_t thread) {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece, thread);
    } catch (...) {
      next = pieces;  // the other threads stop, too
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t thread = 1; thread < std::min(threads, pieces); ++thread) {
    try {
      others.push_back(std::async(std::launch::async, take_pieces, thread));
    } catch (const std::system_error&) {
      break;  // there can be no more threads: those that are there do it alone
    }
  }
  take_pieces(0);
  for (std::future<void>& other : others) other.get();  // waits for it, and throws what it threw
}
