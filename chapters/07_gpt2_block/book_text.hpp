#pragma once
/// @file
/// @brief The book's own text, to learn to write from.

#include <filesystem>
#include <string>

/// The prose of all chapters in their order: their README.md without listings, outputs, formulas,
/// tables, pictures, comments and names of tests, and without the marks of headings, emphasis and
/// code.
/// @param chapters  the folder of the chapters
/// @throws std::runtime_error when there is no chapter, or one cannot be read
std::string book_text(const std::filesystem::path& chapters);
