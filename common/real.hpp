#pragma once
/// @file
/// @brief The number that everything is computed in.

/// float, as GPT-2 is; double where a check needs more digits.
#ifdef ATTENTION_DOUBLE
using Real = double;
#else
using Real = float;
#endif
