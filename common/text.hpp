#pragma once
/// @file
/// @brief From a sentence to the input of attention: tokens, token embeddings, position embeddings.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/tensor.hpp"
#include "common/unicode.hpp"

/// The most tokens a chapter's program takes. One (T, T) matrix of floats has 67 MB at this
/// length.
constexpr std::size_t max_tokens = 4096;

/// Whether a character may be shown: control characters could drive the reader's terminal, and
/// neither they nor noncharacters are allowed in XML.
bool is_printable(std::int32_t code);

/// Rejects a character that is neither white space nor printable.
/// @throws std::invalid_argument with the character and its offset
void require_text(const Character& c, const std::string& name);

/// How many bytes the mark U+FEFF takes that some editors put before a text: 3, or 0 where there is
/// none. Every function of this book that reads text skips it.
std::size_t byte_order_mark_length(std::string_view text);

/// Splits a text at white space. The text is brought into Unicode's composed form (NFC) first, so
/// that words that look the same are the same.
/// @param name  what the messages call it
/// @throws std::invalid_argument when the text is not UTF-8 (with the offset of the byte), contains
/// a control
///         character, has no word in it, or has more than `max_tokens` words.
std::vector<std::string> split_words(std::string_view text, const std::string& name = "the text");

/// A sequence of tokens with its embeddings.
struct Sequence {
  std::vector<std::string> tokens;  ///< T words
  Matrix token_embeddings;          ///< (T, d_in)
  Matrix position_embeddings;       ///< (T, d_in); zeros when positions are off
  Matrix X;                         ///< (T, d_in) their sum: the input of attention
};

/// Gives each word its token embedding and, if `positions`, adds the position embedding.
///
/// A word has the same token embedding wherever it is. In two dimensions those of "draw", "a" and
/// "map" are chosen so that, with the position embeddings of positions 0, 1 and 2, they give the
/// encodings of the book's running example. All other token embeddings are random, from a generator
/// whose seed is the word. Position embeddings are those of "Attention Is All You Need", section
/// 3.5: sin(position / 10000^(2i / d_in)) in column 2i, and the cosine of the same in column 2i
/// + 1.
Sequence embed(const std::vector<std::string>& words, std::size_t d_in, bool positions);

/// The first `count` tokens of a sequence, or all of them if it has fewer.
Sequence first_tokens(const Sequence& sequence, std::size_t count);

/// The number of columns that a text takes on a terminal: combining characters take none, wide
/// characters and emoji two.
/// @param text  UTF-8
std::size_t display_width(std::string_view text);

/// The text, cut so that it takes at most `width` columns; a cut shows as "…".
std::string clip(const std::string& text, std::size_t width);

/// A word in a sentence: in quotation marks, and cut to twenty columns.
std::string quoted(const std::string& word);

/// A name as one would type it into a shell: quoted unless it consists of letters, digits and
/// characters without a meaning for the shell.
std::string for_shell(const std::string& name);

/// 1769472 as "1,769,472".
std::string grouped(std::size_t number);
