// Absurd numbers in attributes and operands give an answer or a refusal, never a crash: every
// number of every case is replaced by hostile ones, and shapes are inferred. Run under the
// sanitizers in CI.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "ir/text.h"
#include "ops/cases.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

constexpr std::string_view kHostile[] = {
    "0", "-1", "1073741824", "1099511627776", "9223372036854775807", "-9223372036854775808"};

struct Token {
  size_t begin, length;
};

bool IsPartOfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The integers of a text that stand in attributes or in the contents of constants; shapes of
/// values are left alone, since their bounds are the parser's.
std::vector<Token> FindNumbers(std::string_view text) {
  std::vector<Token> numbers;
  bool counts = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '=') counts = true;
    if (text[i] == '\n' || text[i] == '%') counts = false;
    if (!counts || !std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    if (i > 0 && (IsPartOfWord(text[i - 1]) || text[i - 1] == '.')) continue;
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const bool integer = end == text.size() || (text[end] != '.' && !IsPartOfWord(text[end]));
    const size_t begin = i > 0 && text[i - 1] == '-' ? i - 1 : i;
    if (integer) numbers.push_back({begin, end - begin});
    i = end;
  }
  return numbers;
}

TEST(Hostile, NumbersInAttributesAndConstantsNeverCrash) {
  int accepted = 0, refused = 0;
  for (const Case& test_case : AllCases()) {
    if (test_case.bench) continue;
    for (const Token& token : FindNumbers(test_case.graph)) {
      for (std::string_view number : kHostile) {
        std::string text(test_case.graph);
        text.replace(token.begin, token.length, number);
        Result<ir::Graph> graph = Parse(text);
        const Status status = graph.ok() ? InferGraph(*graph) : graph.status();
        ++(status.ok() ? accepted : refused);
        if (status.ok()) continue;
        EXPECT_NE(status.code(), StatusCode::kInternal) << text << status.message();
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace fettle::ops
