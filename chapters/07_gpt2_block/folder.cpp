#include "folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

/// Which folder has a name now: it keeps its number when it is moved.
FolderNumber number_of(const fs::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

}  // namespace

MadeFolders::MadeFolders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> missing;  // the innermost first
  for (fs::path path = folder; !path.empty() && !fs::exists(path, error);) {
    missing.push_back(path);
    path = path.parent_path();
  }
  for (; !missing.empty(); missing.pop_back()) {
    // Another program may have made it meanwhile; then it is not ours to remove.
    const bool made = fs::create_directory(missing.back(), error);
    if (error) break;
    if (made) made_.emplace_back(missing.back(), number_of(missing.back()));
  }
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  removes_ = true;
  remove_empty();
  std::error_code seen;
  const fs::file_type type = fs::status(folder, seen).type();
  std::string reason = error ? error.message() : "it is a file";
  if (type == fs::file_type::none) reason = seen.message();  // such as a link that leads to itself
  if (type == fs::file_type::not_found && fs::is_symlink(folder, ignored)) {
    reason = "it is a link that leads nowhere";
  }
  throw std::runtime_error(fmt::format("cannot make the folder {}: {}", folder.string(), reason));
}

MadeFolders::~MadeFolders() {
  remove_empty();
}

void MadeFolders::remove_if_empty() {
  removes_ = true;
}

void MadeFolders::remove_empty() const {
  if (!removes_) return;
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    if (number_of(made->first) == made->second) ::rmdir(made->first.c_str());
  }
}

FolderLock::FolderLock(const fs::path& folder)
    : path_(folder), folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) {
    throw std::runtime_error(
        fmt::format("cannot open the folder {}: {}", folder.string(), std::strerror(errno)));
  }
  if (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(folder_);
    if (reason != EWOULDBLOCK) {
      throw std::runtime_error(
          fmt::format("cannot lock the folder {}: {}", folder.string(), std::strerror(reason)));
    }
    throw std::runtime_error(fmt::format(
        "another program is training in {}; choose another folder with --out", folder.string()));
  }
}

FolderLock::~FolderLock() {
  ::close(folder_);
}

bool FolderLock::is_in_place() const {
  struct stat locked {};
  return ::fstat(folder_, &locked) == 0 &&
         number_of(path_) == FolderNumber(locked.st_dev, locked.st_ino);
}

void FolderLock::require_in_place() const {
  if (is_in_place()) return;
  throw std::runtime_error(
      fmt::format("the folder {} has been moved or removed while it was in use", path_.string()));
}
