#pragma once
/// @file
/// @brief Files that are written whole or not at all, and read whole.

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

/// A file that appears whole or not at all: written under a temporary name beside its own, flushed,
/// and renamed when it is wanted. What stood there before stays until then, whatever happens: a
/// full disk, an exception, a program that is killed.
///
/// All of its functions throw std::runtime_error with the path and the system's reason.
class WholeFile {
 public:
  /// Opens an empty file under the temporary name, and removes those that killed programs have left
  /// for the same path. A link is followed to the file that it names; what is no plain file is
  /// refused. A file that stood there hands on its owner and its mode, if the system lets it.
  explicit WholeFile(const std::filesystem::path& path);

  /// The same, and writes and flushes the content.
  WholeFile(const std::filesystem::path& path, const std::string& content);

  /// Removes the temporary file, if it has not been put in place.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Adds bytes at the end.
  void write(const void* bytes, std::size_t count);

  /// Waits until the disk has all that was written.
  void flush();

  /// Flushes, and gives the file its own name.
  void put_in_place();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Removes what killed programs have left in a folder of files that were to be whole.
/// @param wanted  whether that is to be done for the file of a name
void remove_abandoned_files(const std::filesystem::path& folder,
                            const std::function<bool(const std::string& name)>& wanted);

/// The content of a file, or of a pipe that has a name.
/// @throws std::runtime_error with the path and the reason, also for a folder and where there are
/// more than `most` bytes
std::string read_whole_file(const std::filesystem::path& path, std::size_t most);

/// The same, but a pipe, which may never say anything, is refused as well.
std::string read_plain_file(const std::filesystem::path& path, std::size_t most);
