#include "base/id_vector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace fettle {
namespace {

TEST(IdVector, IdsCountWhatIsThere) {
  IdVector<int32_t, std::string> names;
  for (int32_t id : names.ids()) ADD_FAILURE() << id;
  names = {"a", "b", "c"};
  std::string text;
  for (int32_t id : names.ids()) {
    if (id == 0) names.push_back("left out");
    text += names[id];
  }
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(names[int64_t{3}], "left out");
}

TEST(IdVector, FlagsAreAssigned) {
  IdVector<int32_t, bool> flags(3);
  flags[1] = true;
  const auto& read = flags;
  EXPECT_TRUE(!read[0] && read[1] && !read[2]);
}

#ifndef NDEBUG
TEST(IdVectorDeathTest, AnIdWithoutAnElementAborts) {
  const IdVector<int32_t, int> table(2);
  EXPECT_DEATH(static_cast<void>(table[-1]), "an id without an element");
  EXPECT_DEATH(static_cast<void>(table[2]), "an id without an element");
}
#endif

}  // namespace
}  // namespace fettle
