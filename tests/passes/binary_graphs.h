// Graphs with tensors of two values, as the tests of the pass to bits write them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "equivalence.h"
#include "passes/binary/binarise.h"

namespace fettle::passes {

/// "const %name: f32[shape] = ..." of the numbers low and high, mixed.
inline std::string Pair(std::string_view name, std::string_view shape, int64_t elements,
                        double low = -1, double high = 1) {
  std::string text = fmt::format("const %{}: f32[{}] =", name, shape);
  uint64_t state = 0x9e3779b97f4a7c15U + static_cast<uint64_t>(elements);
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += fmt::format(" {}", (state >> 40 & 1U) != 0 ? high : low);
  }
  return text + "\n";
}

/// "const %name: f32[numbers] = ..." of numbers made from their index.
template <typename F>
std::string Numbers(std::string_view name, int64_t count, F&& number) {
  std::string text = fmt::format("const %{}: f32[{}] =", name, count);
  for (int64_t i = 0; i < count; ++i) text += fmt::format(" {}", number(i));
  return text + "\n";
}

/// %s is 1 or -1 by the sign of %x.
inline std::string Signs(std::string_view shape) {
  return fmt::format(
      "input %x: f32[{}]\nconst %zero: f32[] = 0.0\nconst %one: f32[] = 1.0\n"
      "const %minus: f32[] = -1.0\n%g = GreaterOrEqual(%x, %zero)\n"
      "%s = Where(%g, %one, %minus)\n",
      shape);
}

/// The operators after the pass, whose results are equal.
inline std::string After(const std::string& text) { return Ops(Rewrite(Binarise, text, true, 0)); }

/// Why the only product of a graph stays as it is.
inline std::string Why(const std::string& text) {
  ir::Graph graph = ParseGraph(text);
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  std::string why;
  for (const BinaryFact& fact : ListBinary(graph)) {
    EXPECT_FALSE(fact.is_binary);
    why = fact.text;
  }
  EXPECT_FALSE(Binarise(graph).value());
  return why;
}

}  // namespace fettle::passes
