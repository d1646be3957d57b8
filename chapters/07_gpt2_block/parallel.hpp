#pragma once
/// @file
/// @brief Pieces of work shared among threads.

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// Calls work(piece, thread) once for each piece from 0 to pieces - 1, on up to `threads` threads,
/// and returns when all are done. Which thread gets which piece is left to chance; so nothing that
/// is computed may depend on `thread`, which only says whose work space to use.
/// @throws whatever the first call threw that failed
inline void in_parallel(std::size_t pieces, std::size_t threads,
                        const std::function<void(std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto take_pieces = [&](std::size_t thread) {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece, thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      if (!failure) failure = std::current_exception();
      next = pieces;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t thread = 1; thread < std::min(threads, pieces); ++thread) {
    others.emplace_back(take_pieces, thread);
  }
  take_pieces(0);
  others.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
}
