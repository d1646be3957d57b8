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

ino_t number_of(const fs::path& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

MadeFolders::MadeFolders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path path = folder; !path.empty() && !fs::exists(path, error);) {
    missing.push_back(path);
    path = path.parent_path();
  }
  fs::create_directories(folder, error);
  for (const fs::path& path : missing) made_.emplace_back(path, number_of(path));
  if (!error) return;
  remove_empty();
  std::error_code ignored;
  const bool leads_nowhere = fs::is_symlink(folder, ignored) && !fs::exists(folder, ignored);
  throw std::runtime_error(
      fmt::format("cannot make the folder {}: {}", folder.string(),
                  leads_nowhere ? "it is a link that leads nowhere" : error.message()));
}

MadeFolders::~MadeFolders() {
  remove_empty();
}

void MadeFolders::remove_empty() const {
  for (const auto& [folder, number] : made_) {
    if (number != 0 && number_of(folder) == number) ::rmdir(folder.c_str());
  }
}

FolderLock::FolderLock(const fs::path& folder)
    : path_(folder), folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) {
    throw std::runtime_error(
        fmt::format("cannot open the folder {}: {}", folder.string(), std::strerror(errno)));
  }
  if (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
    ::close(folder_);
    throw std::runtime_error(fmt::format(
        "another program is training in {}; choose another folder with --out", folder.string()));
  }
}

FolderLock::~FolderLock() {
  ::close(folder_);
}

void FolderLock::require_in_place() const {
  struct stat locked {};
  struct stat named {};
  if (::fstat(folder_, &locked) == 0 && ::stat(path_.c_str(), &named) == 0 &&
      locked.st_dev == named.st_dev && locked.st_ino == named.st_ino) {
    return;
  }
  throw std::runtime_error(
      fmt::format("the folder {} has been moved or removed while it was in use", path_.string()));
}
