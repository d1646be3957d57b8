#include "book_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "common/text.hpp"
#include "vocabulary.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> chapter_texts(const fs::path& chapters) {
  std::vector<fs::path> paths;
  if (fs::is_directory(chapters)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(chapters)) {
      if (fs::exists(entry.path() / "README.md")) paths.push_back(entry.path() / "README.md");
    }
  }
  if (paths.empty()) {
    throw std::runtime_error(fmt::format(
        "The book's own text is not in {}: name a text with --data.", chapters.string()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What of a page is prose: reads it line by line.
class Prose {
 public:
  void add(const std::string& line) {
    if (line.starts_with("```") || line.starts_with("$$")) {
      const bool one_line = line.starts_with("$$") && line.size() > 2 && line.ends_with("$$");
      if (!one_line) in_block_ = !in_block_;
      return;
    }
    const bool markup = line.starts_with("<") || line.starts_with("|") || line.starts_with("![");
    const bool definition = line.starts_with("[") && line.find("]: ") != line.npos;
    const bool second_blank = line.empty() && text_.ends_with("\n\n");
    if (in_block_ || markup || definition || second_blank) return;
    text_ += line.substr(std::min(line.size(), line.find_first_not_of("# "))) + "\n";
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool in_block_ = false;
};

/// Takes out all that stands between two marks, and the marks.
std::string without(std::string text, const std::string& begin, const std::string& end) {
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
    const std::size_t last = text.find(end, at + begin.size());
    if (last == text.npos) break;
    text.erase(at, last + end.size() - at);
  }
  return text;
}

/// Formulas in a line: letters stay as they are, and what TeX has to set is taken out.
std::string without_formulas(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.size(), text.find('$', at));
    const std::size_t end = std::min(text.size(), text.find('$', begin + 1));
    kept.append(text, at, begin - at);
    if (begin == text.size()) break;
    const std::string formula = text.substr(begin + 1, end - begin - 1);
    if (formula.find_first_of("\\_^{") == formula.npos) kept += formula;
    at = end + 1;
  }
  return kept;
}

}  // namespace

std::string book_text(const fs::path& chapters) {
  Prose prose;
  for (const fs::path& path : chapter_texts(chapters)) {
    const std::string text = read_text(path);
    std::istringstream page(text.substr(byte_order_mark_length(text)));
    for (std::string line; std::getline(page, line);) prose.add(line);
  }
  std::string text = without(prose.text(), "<!--", "-->");
  for (const char* begin : {" [✓][", "\n[✓]["}) text = without(text, begin, "]");
  text = without_formulas(text);
  std::erase_if(text, [](char c) { return c == '*' || c == '`'; });  // emphasis, and code
  return text;
}
