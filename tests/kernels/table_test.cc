// The kernel table against the sources: whatever is defined must be listed. What a row is made of:
// functions of what is read of a group once, and parameters that are declared once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvDotNhwc;

namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The words that stand between `before` and `after` in a text.
std::set<std::string> WordsBetween(const std::string& text, const std::string& before,
                                   const std::string& after) {
  std::set<std::string> found;
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    const size_t end = text.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at);
    if (end != std::string::npos && end > at && text.compare(end, after.size(), after) == 0)
      found.insert(text.substr(at, end - at));
  }
  return found;
}

TEST(KernelTable, ListsEveryKernelThatASourceDefines) {
  const std::filesystem::path folder =
      std::filesystem::path(FETTLE_SOURCE_DIR) / "src" / "kernels" / "cpu";
  const std::set<std::string> listed = WordsBetween(ReadText(folder / "table.inc"), "KERNEL(", ")");
  std::set<std::string> defined;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cc" || entry.path().filename() == "table.cc") continue;
    defined.merge(WordsBetween(ReadText(entry.path()), "extern const KernelDesc ", ";"));
  }
  EXPECT_GT(defined.size(), 1U);
  EXPECT_EQ(listed, defined);
  EXPECT_EQ(listed.size(), CpuKernels().size());
}

TEST(KernelTable, NamesAreUniqueAndRowsComplete) {
  std::set<std::string_view> names;
  for (const KernelDesc* kernel : CpuKernels()) {
    EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
    EXPECT_TRUE(kernel->name.starts_with("cpu.")) << kernel->name;
    EXPECT_NE(kernel->match, nullptr) << kernel->name;
    EXPECT_GE(kernel->version, 1) << kernel->name;
  }
}

struct Tile {
  int64_t rows = 4, depth = 8, free = 1;
};
constexpr Fields kTile("conv/tile.clh", Field{"rows", &Tile::rows, {1, 2, 4}, "ROWS"},
                       Field{"depth", &Tile::depth, {8, 16}, "DEPTH"},
                       Field{"free", &Tile::free, {}});

/// Collects what is defined.
struct Defines {
  std::vector<std::pair<std::string, int64_t>> all;
  void Define(std::string_view name, int64_t value) { all.emplace_back(name, value); }
};

TEST(Fields, SayOneDeclarationInEachForm) {
  const Params params = kTile.Write({.rows = 2, .depth = 16, .free = 5});
  EXPECT_EQ(params, (Params{{"rows", 2}, {"depth", 16}, {"free", 5}}));
  const Tile read = kTile.Read({{"depth", 16}, {"other", 9}});
  EXPECT_EQ(read.rows, 4);
  EXPECT_EQ(read.depth, 16);
  EXPECT_EQ(kTile.Read({}, {.rows = 1}).rows, 1);
  const std::vector<Tunable> listed = kTile.Tunables();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].name, "rows");
  EXPECT_EQ(listed[1].values, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(kTile.Tunables({{{1}, {2, 3}, {4}}})[2].values, std::vector<int64_t>{4});
  Defines defines;
  kTile.Define({.rows = 2}, defines);
  EXPECT_EQ(defines.all, (std::vector<std::pair<std::string, int64_t>>{{"ROWS", 2}, {"DEPTH", 8}}));
  const std::span<const ParamInfo> infos = ParametersOf<kTile>();
  ASSERT_EQ(infos.size(), 3U);
  EXPECT_EQ(infos[0].macro, "ROWS");
  EXPECT_EQ(infos[0].source, "conv/tile.clh");
  EXPECT_TRUE(infos[2].values.empty());
}

int g_reads = 0;

struct Facts {
  int64_t elements = 0;
};

class Nothing final : public PreparedKernel {
 public:
  explicit Nothing(const Tile& tile) : tile_(tile) {}
  int64_t workspace_bytes() const override { return tile_.rows * 100 + tile_.depth; }
  Status Launch(const LaunchArgs&) const override { return OkStatus(); }

 private:
  Tile tile_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ++g_reads;
  if (group.nodes()[0].op != "Relu"_op) return Unsupported("not a Relu");
  return Facts{group.value(group.inputs[0]).shape->elements()};
}
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{RowMajorStates(group)};
}
Result<std::unique_ptr<PreparedKernel>> PrepareNothing(const Problem&, const Facts&,
                                                       const Params& params, const Device&) {
  return std::unique_ptr<PreparedKernel>(new Nothing(kTile.Read(params)));
}
ParamSpace Space(const Problem& problem, const Facts& facts, const Device&) {
  return {kTile.Tunables(), kTile.Write({.rows = problem.threads, .free = facts.elements}),
          [](const Params& params) {
            return kTile.Read(params).rows < 4 ? OkStatus() : Unsupported("too many rows");
          }};
}
int Taste(const Facts& facts, const Device&) { return facts.elements > 10 ? 7 : 3; }

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = PrepareNothing, .params = Space, .taste = Taste};
const KernelDesc kKernel = {.name = "cpu.test.nothing", .match = MatchAs<kFamily>};

TEST(Family, ReadsAGroupOnce) {
  const CaseGroup relu = ParseGroup("input %x: f32[3x4]\n%y = Relu(%x)\noutput %y\n");
  g_reads = 0;
  const auto match = MatchGroup(kKernel, relu.graph, TestDevice(1));
  ASSERT_TRUE(match.ok()) << match.status().message();
  EXPECT_EQ((*match)->states().size(), 1U);
  EXPECT_EQ((*match)->taste(), 7);
  EXPECT_FALSE((*match)->is_view(0));
  EXPECT_FALSE((*match)->work({}).has_value());
  const ParamSpace space = (*match)->params(0, 2);
  EXPECT_EQ(space.usual, (Params{{"rows", 2}, {"depth", 8}, {"free", 12}}));
  EXPECT_FALSE(space.check({{"rows", 4}}).ok());
  // What a setting leaves out is as usual.
  const auto prepared = (*match)->Prepare({.threads = 3, .params = {{"depth", 16}}});
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ((*prepared)->workspace_bytes(), 316);
  EXPECT_EQ(g_reads, 1);
}

TEST(Family, SaysWhyItCannot) {
  const CaseGroup neg = ParseGroup("input %x: f32[3]\n%y = Neg(%x)\noutput %y\n");
  EXPECT_EQ(MatchGroup(kKernel, neg.graph, TestDevice(1)).status().message(), "not a Relu");
}

TEST(Family, RefusesStatesThatItDoesNotList) {
  const CaseGroup relu = ParseGroup("input %x: f32[1x2x3x4]\n%y = Relu(%x)\noutput %y\n");
  const auto match = MatchGroup(kKernel, relu.graph, TestDevice(1));
  ASSERT_TRUE(match.ok());
  StateAssignment states = RowMajorStates(*relu.graph);
  EXPECT_EQ(FindStates(kKernel, **match, states).value(), 0);
  states.inputs[0].layout = Layout::ChannelsLast(4);
  EXPECT_EQ(FindStates(kKernel, **match, states).status().message(),
            "cpu.test.nothing: takes none of its operands in these states");
}

TEST(Taste, IsLowWhereLanesStayEmpty) {
  const auto taste_of = [](int ic) {
    const CaseGroup conv =
        ParseGroup(fmt::format("input %x: f32[1x{0}x9x9]\nconst %w: f32[3x{0}x3x3]\n"
                               "%y = Conv(%x, %w)\noutput %y\n",
                               ic));
    const auto match = MatchGroup(kCpuConvDotNhwc, conv.graph, TestDevice(1));
    return match.ok() ? (*match)->taste() : -1;
  };
  EXPECT_EQ(taste_of(1), 1);
  EXPECT_EQ(taste_of(32), 12);
}

TEST(Family, ListsNoParameterThatItDoesNotDeclare) {
  const CaseGroup conv = ParseGroup(
      "input %x: f32[1x32x28x28]\nconst %w: f32[64x32x3x3]\n"
      "%y = Conv(%x, %w) {pads=[1,1,1,1]}\noutput %y\n");
  for (const KernelDesc* kernel : CpuKernels()) {
    const auto match = MatchGroup(*kernel, conv.graph, TestDevice(1));
    if (!match.ok()) continue;
    const ParamSpace space = (*match)->params(0, 1);
    for (const Tunable& tunable : space.tunables) {
      EXPECT_TRUE(space.usual.contains(tunable.name)) << kernel->name << " " << tunable.name;
      EXPECT_NE(
          std::find(tunable.values.begin(), tunable.values.end(), space.usual.at(tunable.name)),
          tunable.values.end())
          << kernel->name << ": the usual " << tunable.name << " is not searched";
    }
    EXPECT_EQ(space.usual.size(), space.tunables.size()) << kernel->name;
  }
}

}  // namespace
}  // namespace fettle::kernels
