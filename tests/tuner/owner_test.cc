// Whether a process that left something behind still runs.
#include "tuner/store/owner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fettle::tuner {
namespace {

TEST(OwnerTest, ThisProcessRuns) {
  EXPECT_FALSE(IsGone(ThisProcess(), 0));
  EXPECT_FALSE(IsGone(ThisProcess(), 1'000'000));
}

TEST(OwnerTest, AProcessOfEqualIdAndOtherStartIsGone) {
  EXPECT_TRUE(IsGone(ThisProcess() + "1", 0));
  const std::string world = ThisProcess().substr(0, ThisProcess().find(' '));
  EXPECT_TRUE(IsGone(world + " 4194305 5", 0));
  EXPECT_TRUE(IsGone(world + " ", 0));
  EXPECT_TRUE(IsGone(world + " x y", 0));
}

TEST(OwnerTest, AnEndedProcessIsGoneBeforeItsParentTookNote) {
  int names[2];
  ASSERT_EQ(::pipe(names), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string name = ThisProcess();
    ::_exit(::write(names[1], name.data(), name.size()) > 0 ? 0 : 1);
  }
  char name[200];
  const ssize_t size = ::read(names[0], name, sizeof(name));
  ASSERT_GT(size, 0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const std::string owner(name, static_cast<size_t>(size));
  EXPECT_NE(owner, ThisProcess());
  EXPECT_TRUE(IsGone(owner, 0));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(IsGone(owner, 0));
  ::close(names[0]);
  ::close(names[1]);
}

TEST(OwnerTest, AProcessOfElsewhereIsGoneAfterAnHour) {
  EXPECT_FALSE(IsGone("another-machine 1 1", 60));
  EXPECT_TRUE(IsGone("another-machine 1 1", 3601));
  EXPECT_FALSE(IsGone("", 60));
}

}  // namespace
}  // namespace fettle::tuner
