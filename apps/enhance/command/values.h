// Values of options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace fettle::enhance {

/// A number from `low` to `high`; CLI11's own range takes NaN.
CLI::Validator NumberFrom(double low, double high);
CLI::Validator WholeFrom(int low, int high);
CLI::Validator OneOf(const std::vector<std::string>& words);

}  // namespace fettle::enhance
