// `--shape NAME=1x3x32..640x32..640`: inputs from one size to another.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tuner/model/tune_range.h"

namespace fettle::tools {

/// Of the command that takes them.
void DescribeRanges(CLI::Option& shape);
/// What is to be said of a range that a command was given which takes none; else "".
std::string MisplacedRange(const CLI::App& command);

/// Whether one of the values of --shape has a range.
bool HasRange(const std::vector<std::string>& shapes);

/// Values of --shape, some of them ranges. kInvalidArgument for a range without two ends, that runs
/// backwards, begins at 0, is one size, is too large or contradicts another of the same input.
Result<tuner::ShapeRanges> ParseShapeRanges(const std::vector<std::string>& shapes);

/// "1x3x32..640x32..640".
std::string RangeText(const tuner::ShapeRange& range);

}  // namespace fettle::tools
