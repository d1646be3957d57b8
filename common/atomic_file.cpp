#include "common/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "common/memory.hpp"
#include "common/text.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::string_view suffix = ".unfinished";

[[noreturn]] void refuse(const char* action, const fs::path& path, const std::string& reason) {
  throw std::runtime_error(fmt::format("cannot {} {}: {}", action, path.string(), reason));
}

[[noreturn]] void refuse_size(const fs::path& path, std::size_t most) {
  refuse("read", path, "it has more than " + grouped(most) + " bytes");
}

[[noreturn]] void refuse_writing(const fs::path& path, const std::string& reason) {
  refuse("write", path, reason);
}

/// The file that a link names, there or not; or the path itself.
fs::path without_link(fs::path path) {
  constexpr int most_links = 40;  // in a row, as in Linux
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) refuse_writing(path, error.message());
    if (links == most_links) refuse_writing(path, "it is a link to a link to a link without end");
    path = path.parent_path() / target;  // the target alone, if it begins at the root
  }
  return path;
}

void require_regular_or_new(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored) || fs::is_regular_file(path, ignored)) return;
  refuse_writing(path,
                 fs::is_directory(path, ignored) ? "it is a folder" : "it is not a regular file");
}

/// The file that a temporary name belongs to: the part before the process id and the suffix. Empty
/// when the name isn't a temporary one.
std::string_view file_of_temporary_name(std::string_view name) {
  if (!name.ends_with(suffix)) return "";
  name.remove_suffix(suffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  const std::string_view number = name.substr(dot + 1);
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const bool is_number = !number.empty() && std::all_of(number.begin(), number.end(), is_digit);
  return is_number ? name.substr(0, dot) : "";
}

/// A program holds a lock on its temporary file while it writes; the lock ends with the program.
void remove_if_abandoned(const fs::path& temporary) {
  const int file = open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(temporary.c_str());
  close(file);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// A new file, locked so that others see that it's being written; null: see errno. It gets the
/// owner and the mode of the file that it will replace, as far as the system allows.
std::FILE* open_new_file(const fs::path& path, const fs::path& before) {
  struct stat old {};
  const bool replaces = stat(before.c_str(), &old) == 0;
  const mode_t mode = replaces ? 0600 : 0666;  // nobody else may read it yet
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return nullptr;
  if (replaces) {
    [[maybe_unused]] const int owner = fchown(file, old.st_uid, old.st_gid);
    fchmod(file, old.st_mode & 07777);
  }
  flock(file, LOCK_EX | LOCK_NB);  // without locks nothing is removed either
  return fdopen(file, "wb");
}

/// A rename is on the disk only once its folder is. Some file systems can't flush a folder; the
/// file has been renamed in any case.
void flush_folder_of(const fs::path& path) {
  const int file = open(folder_of(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

std::string sentence_of(const std::exception& error) {
  const auto* failure = dynamic_cast<const fs::filesystem_error*>(&error);
  if (failure == nullptr) return error.what();
  return fmt::format("cannot use {}: {}", failure->path1().string(), failure->code().message());
}

void remove_abandoned_files(const fs::path& folder,
                            const std::function<bool(const std::string& name)>& wanted) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::string file(file_of_temporary_name(name));
    if (!file.empty() && wanted(file)) remove_if_abandoned(entry.path());
  }
}

AtomicFile::AtomicFile(const fs::path& path) : path_(without_link(path)) {
  require_regular_or_new(path_);
  remove_abandoned_files(
      folder_of(path_), [&](const std::string& name) { return name == path_.filename().string(); });
  const fs::path temporary = path_.string() + fmt::format(".{}{}", getpid(), suffix);
  file_.reset(open_new_file(temporary, path_));
  if (!file_) refuse_writing(path, std::strerror(errno));
  temporary_ = temporary;
}

AtomicFile::AtomicFile(const fs::path& path, const std::string& content) : AtomicFile(path) {
  write(content.data(), content.size());
  flush();
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  if (count > 0 && std::fwrite(bytes, 1, count, file_.get()) != count) {
    refuse_writing(path_, std::strerror(errno));
  }
}

void AtomicFile::flush() {
  if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) {
    refuse_writing(path_, std::strerror(errno));
  }
}

void AtomicFile::commit() {
  flush();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    refuse_writing(path_, std::strerror(errno));
  }
  temporary_.clear();
  flush_folder_of(path_);
}

std::string read_file(const fs::path& path, std::size_t most) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("read", path, "it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("read", path, std::strerror(errno));
  std::string content;
  if (fs::is_regular_file(path, ignored)) {
    const std::uintmax_t size = fs::file_size(path, ignored);
    const bool is_known = !ignored;
    if (is_known && size > most) refuse_size(path, most);
    if (is_known) require_memory(static_cast<double>(size), "reading " + path.string());
    if (is_known) content.reserve(size);
  }
  std::array<char, 65536> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    content.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (content.size() > most) refuse_size(path, most);
  }
  if (file.bad()) refuse("read", path, std::strerror(errno));
  return content;
}

std::string read_regular_file(const fs::path& path, std::size_t most) {
  std::error_code ignored;
  if (fs::is_other(path, ignored)) refuse("read", path, "it is not a regular file");
  return read_file(path, most);
}
