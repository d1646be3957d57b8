#pragma once
/// @file
/// @brief From a sentence to the matrix that attention reads: words, token vectors, position
/// vectors.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/tensor.hpp"
#include "common/unicode.hpp"

/// The most tokens a chapter's program takes. One (T, T) matrix of floats has 67 MB at this
/// length.
constexpr std::size_t max_tokens = 4096;

/// Whether a character may be shown: it is no control character and no noncharacter. Control
/// characters could drive the reader's terminal, and neither kind may stand in XML.
bool is_printable(std::int32_t code);

/// Refuses what is neither white space nor printable.
/// @throws std::invalid_argument with the character and its offset
void require_text(const Character& c, const std::string& name);

/// Cuts a text at its white space. Words that look the same are the same: the text is brought into
/// Unicode's composed form (NFC) first.
/// @param name  what the messages call it
/// @throws std::invalid_argument when the text is not UTF-8 (with the offset of the byte), contains
/// a control
///         character, has no word in it, or has more than `max_tokens` words.
std::vector<std::string> split_words(std::string_view text, const std::string& name = "the text");

/// A sequence that attention can read.
struct Sequence {
  std::vector<std::string> tokens;  ///< T words
  Matrix token_embeddings;          ///< (T, d_in)
  Matrix position_embeddings;       ///< (T, d_in); zeros when positions are off
  Matrix X;                         ///< (T, d_in) their sum: what attention reads
};

/// Gives each word its vector and, if `positions`, adds the vector of its place.
///
/// A word's vector is the same wherever the word stands. In two dimensions "draw", "a" and "map"
/// have the vectors that, with places 0, 1 and 2 added, give the encodings of the book's running
/// example. All other vectors are drawn from a generator whose seed is the word. A place's vector
/// is that of "Attention Is All You Need", section 3.5: sin(place / 10000^(2i / d_in)) in column 2i
/// and the cosine of the same in column 2i + 1.
Sequence embed(const std::vector<std::string>& words, std::size_t d_in, bool positions);

/// The first `count` tokens of a sequence, or all if it has fewer.
Sequence first_tokens(const Sequence& sequence, std::size_t count);

/// The columns a text takes on a terminal: combining characters none, wide characters and emoji
/// two.
/// @param text  UTF-8
std::size_t display_width(std::string_view text);

/// The text, cut so that it takes at most `width` columns; a cut shows as "…".
std::string clip(const std::string& text, std::size_t width);

/// A word in a sentence: in quotation marks, and cut to twenty columns.
std::string quoted(const std::string& word);

/// A name as it is typed into a shell: in quotation marks, unless it has nothing but letters,
/// digits and signs that a shell leaves alone.
std::string for_shell(const std::string& name);

/// 1769472 as "1,769,472".
std::string grouped(std::size_t number);
