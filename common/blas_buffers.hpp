#pragma once
/// @file
/// @brief Turns at OpenBLAS, so that its work buffers never run out.
///
/// OpenBLAS reserves 128 MB of addresses for each product that is being computed. It has a fixed
/// number of such buffers, crashes when many more threads ask for one, and tries again for ever
/// when the system refuses the memory. So each product first takes a turn here.

/// A turn at OpenBLAS for one product, from construction to destruction. Waits while all buffers
/// are in use: those that OpenBLAS was built for, or as many as the system has memory for.
class BlasTurn {
 public:
  /// @throws std::runtime_error when there isn't memory even for one buffer
  BlasTurn();
  ~BlasTurn();
  BlasTurn(const BlasTurn&) = delete;
  BlasTurn& operator=(const BlasTurn&) = delete;
};
