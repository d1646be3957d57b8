#pragma once
/// @file
/// @brief A model's folder while a run is at work in it.

#include <sys/types.h>

#include <filesystem>
#include <utility>
#include <vector>

/// The device and the number on it of a folder; of none: zeros.
using FolderNumber = std::pair<dev_t, ino_t>;

/// Folders that are made for a model.
class MadeFolders {
 public:
  /// Makes the folder and those around it, unless they are there.
  /// @throws std::runtime_error when that is not possible; then none is left
  explicit MadeFolders(const std::filesystem::path& folder);

  /// If `remove_if_empty` was called, removes what it has made and nothing has come to lie in. A
  /// folder that has taken the place of another stays.
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

  /// For who has the lock: before that, the folder may be in use already.
  void remove_if_empty();

 private:
  void remove_empty() const;

  std::vector<std::pair<std::filesystem::path, FolderNumber>> made_;  // the outermost first
  bool removes_ = false;
};

/// A folder that no other program trains in, until this ends: two would overwrite each other's
/// model. Nothing is left behind, even when the program is killed.
class FolderLock {
 public:
  /// @throws std::runtime_error when another program has the folder, or there is no such folder
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Whether the folder still has its name.
  bool is_in_place() const;

  /// @throws std::runtime_error when another folder, or none, has the name now
  void require_in_place() const;

 private:
  std::filesystem::path path_;
  int folder_;
};
