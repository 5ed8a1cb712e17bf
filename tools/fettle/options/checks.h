// What the value of an option may be. CLI11's own checks let NaN and whole numbers that overflow
// pass and speak of ranges that end at the largest double; these say what was expected and what was
// got, as all messages do.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace fettle::tools {

/// One of `names`: "expected high|normal|low, got 'x'". Help and what shells complete list them.
CLI::Validator OneOf(std::vector<std::string> names);

/// A number from `low` to `high`, both included: whole where they are of a whole type, finite where
/// not.
CLI::Validator Between(int low, int high);
CLI::Validator Between(int64_t low, int64_t high);
CLI::Validator Between(double low, double high);

/// Numbers but NaN and infinities.
CLI::Validator Finite();
CLI::Validator Positive();
/// 0 or more, of the type of the option: double, int64_t or uint64_t.
template <typename T>
CLI::Validator NonNegative();

/// Bytes: a whole number, at times with a unit (kB is 1000, KiB 1024); becomes the number.
CLI::Validator ByteSize();

}  // namespace fettle::tools
