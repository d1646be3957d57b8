#pragma once
/// @file
/// @brief A model's folder while a run is at work in it.

#include <sys/types.h>

#include <filesystem>
#include <utility>
#include <vector>

/// Folders that are made for a model, and removed again if nothing comes to lie in them.
class MadeFolders {
 public:
  /// Makes the folder and those around it, unless they are there.
  /// @throws std::runtime_error when that is not possible
  explicit MadeFolders(const std::filesystem::path& folder);

  /// A folder that has something in it stays, and one that has taken the place of another.
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;

 private:
  void remove_empty() const;

  std::vector<std::pair<std::filesystem::path, ino_t>> made_;  // the innermost first
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

  /// @throws std::runtime_error when another folder, or none, has the name now
  void require_in_place() const;

 private:
  std::filesystem::path path_;
  int folder_;
};
