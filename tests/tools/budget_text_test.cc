// What `fettle tune` says where it takes longer than its budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/tuning.h"

namespace fettle::tools {
namespace {

TEST(OverBudgetText, NamesThePartsThatTookTime) {
  const UnmeasuredSeconds parts{.loading = 0.5, .default_plan = 1.25, .writing = 0.75};
  EXPECT_EQ(OverBudgetText(2, 2.6, parts),
            "the command took 2.6 s of a budget of 2 s: 0.5 s to load the model, 1.2 s for its "
            "default plan, 0.1 s for the rest of the tuning, 0.8 s to write the package");
}

TEST(OverBudgetText, IsEmptyWithinTheBudgetAndWithoutOne) {
  EXPECT_EQ(OverBudgetText(2, 2.05, {}), "");
  EXPECT_EQ(OverBudgetText(0, 9, {}), "");
  EXPECT_EQ(OverBudgetText(-1, 9, {}), "");
}

}  // namespace
}  // namespace fettle::tools
