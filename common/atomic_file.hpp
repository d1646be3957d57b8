#pragma once
/// @file
/// @brief Atomic writes: a file appears complete or not at all. And reading a file at once.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

/// The message of an exception, as a sentence for the reader. The C++ library's own words about a
/// file system, such as "filesystem error: status: …", become the path and the system's reason.
std::string sentence_of(const std::exception& error);

/// An atomic write: the content goes into a temporary file in the same folder, which is flushed and
/// then renamed. Until the rename the old file stays as it is, whatever happens: a full disk, an
/// exception, a program that is killed.
///
/// Every function throws std::runtime_error with the path and the system's reason.
class AtomicFile {
 public:
  /// Opens an empty temporary file, and removes those that killed programs have left for the same
  /// path. Symbolic links are followed; anything but a regular file is refused. The new file gets
  /// the owner and the mode of the old one, as far as the system allows.
  explicit AtomicFile(const std::filesystem::path& path);

  /// Opens the file, writes the content and flushes it.
  AtomicFile(const std::filesystem::path& path, const std::string& content);

  /// Removes the temporary file unless it has been committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Adds bytes at the end.
  void write(const void* bytes, std::size_t count);

  /// Waits until everything written is on the disk.
  void flush();

  /// Flushes the file and renames it to its path.
  void commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Removes the temporary files that killed programs have left in a folder.
/// @param wanted  decides by the name of the final file
void remove_abandoned_files(const std::filesystem::path& folder,
                            const std::function<bool(const std::string& name)>& wanted);

/// The content of a file or a named pipe.
/// @throws std::runtime_error with the path and the reason, also for a folder, and for more than
/// `most` bytes
std::string read_file(const std::filesystem::path& path, std::size_t most);

/// The content of a regular file; a pipe, which may block for ever, is refused as well.
std::string read_regular_file(const std::filesystem::path& path, std::size_t most);
