// Attention whose keys are repeated for several heads of queries is one group.
#include <gtest/gtest.h>

#include <algorithm>

#include "equivalence.h"
#include "passes/groups.h"

namespace fettle::passes {
namespace {

TEST(RepeatedKeys, AreInTheGroupOfTheirAttention) {
  const auto largest = [](const std::string& outputs) {
    const ir::Graph graph = ParseGraph(
        "input %q: f32[6x5x4]\ninput %k: f32[2x1x4x7]\ninput %v: f32[6x7x4]\n"
        "const %e: i64[4] = 2 3 4 7\nconst %s: i64[3] = 6 4 7\n%k1 = Expand(%k, %e)\n"
        "%k2 = Reshape(%k1, %s)\n%p = MatMul(%q, %k2)\n%n = Softmax(%p)\n%y = MatMul(%n, %v)\n" +
        outputs);
    size_t most = 0;
    for (const Group& group : ListGroups(graph))
      if (group.pattern == "attention") most = std::max(most, group.nodes.size());
    return most;
  };
  EXPECT_EQ(largest("output %y\n"), 5u);
  EXPECT_EQ(largest("output %y\noutput %k1\n"), 4u);  // what others read is written
}

}  // namespace
}  // namespace fettle::passes
