#pragma once
/// @file
/// @brief What the program of this chapter does besides its walk: train, sample, evaluate.

/// Trains a model and keeps it in a folder.
/// @param argv  the command's name, and the options that follow it
/// @return the program's exit code, see `CommandLine::run`; 130 after Ctrl-C
int train_command(int argc, char** argv);

/// Prints a text that a model writes.
/// @param argv  the command's name, and the options that follow it
/// @return the program's exit code, see `CommandLine::run`
int sample_command(int argc, char** argv);

/// Prints a model's losses on the two parts of a text.
/// @param argv  the command's name, and the options that follow it
/// @return the program's exit code, see `CommandLine::run`
int evaluate_command(int argc, char** argv);
