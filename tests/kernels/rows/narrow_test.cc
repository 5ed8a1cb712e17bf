// What reduces, searches, normalises or gathers along short rows, few columns, and rows of one
// element: their loops take many of these at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuCumulate;
extern const KernelDesc kCpuGather;
extern const KernelDesc kCpuReduceArg;
extern const KernelDesc kCpuReduceRows;
extern const KernelDesc kCpuReduceTyped;
extern const KernelDesc kCpuSoftmaxRows;

namespace {

constexpr Tolerance kSameBits = {.atol = 0, .rtol = 0}, kNearby = {.atol = 1e-5, .rtol = 1e-5};

struct NarrowRows {
  std::string_view shape, axes;
};
constexpr NarrowRows kNarrowRows[] = {
    {"301x3", "1"},      {"131x5", "1"},   {"97x4x3", "1"},  {"29x9x10", "2"},
    {"3x50x7", "0 2"},   {"7x1x5", "1"},   {"3x1x301", "1"}, {"2x901x3", "1"},
    {"1x2001x2", "1"},   {"3x37x31", "1"}, {"5x777", "1"},   {"2x3x5x4", "1 2"},
    {"5x17x2x9", "0 2"}, {"1x1", "1"},     {"67x128", "1"},  {"9x41x16", "1"},
};

int CountOf(std::string_view axes) { return axes.size() == 1 ? 1 : 2; }

TEST(Narrow, Reductions) {
  for (const auto& [shape, axes] : kNarrowRows) {
    for (std::string_view type : {"f32", "f64", "i32", "i64", "i8", "u8"}) {
      const bool is_byte = type[1] == '8';
      for (std::string_view op : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceL1",
                                  "ReduceL2", "ReduceSumSquare", "ReduceProd"}) {
        if (is_byte && op != "ReduceMax" && op != "ReduceMin") continue;
        const std::string text = fmt::format(
            "input %x: {}[{}] = noise({})\nconst %a: i64[{}] = {}\n%y = {}(%x, %a)\noutput %y\n",
            type, shape,
            type[0] == 'f'   ? "-1, 1"
            : type[0] == 'u' ? "3, 255"
                             : "-99, 99",
            CountOf(axes), axes, op);
        SCOPED_TRACE(text);
        CheckKernel(kCpuReduceTyped, text, type[0] == 'f' ? kNearby : kSameBits);
      }
    }
  }
}

/// By cpu.reduce.rows, whose taste is 10.
TEST(Narrow, LongerRowsOfFloatsAreFoldedAlong) {
  struct Wanted {
    std::string_view type;
    int extent, taste;
  };
  constexpr Wanted kWanted[] = {
      {"f32", 10, 11}, {"f32", 11, 5}, {"f16", 11, 5}, {"f32", 128, 5}, {"i32", 11, 11}};
  for (const auto& [type, extent, taste] : kWanted) {
    const std::string text = fmt::format(
        "input %x: {}[700x{}]\nconst %a: i64[1] = 1\n%y = ReduceSum(%x, %a)\noutput %y\n", type,
        extent);
    SCOPED_TRACE(text);
    const auto match = MatchGroup(kCpuReduceTyped, ParseGroup(text).graph, TestDevice(1));
    ASSERT_TRUE(match.ok());
    EXPECT_EQ((*match)->taste(), taste);
  }
}

TEST(Narrow, ReductionsOverOne) {
  for (std::string_view op : {"ReduceMax", "ReduceSum", "ReduceL1", "ReduceL2"}) {
    const std::string text = fmt::format(
        "input %x: f32[3x1x301]\nconst %a: i64[1] = 1\n%y = {}(%x, %a)\noutput %y\n", op);
    SCOPED_TRACE(text);
    CheckKernel(kCpuReduceRows, text, kNearby);
  }
}

TEST(Narrow, PositionsOfExtremes) {
  for (std::string_view shape :
       {"301x3", "97x4x3", "7x1x5", "2x1501x3", "1x3001x2", "3x2100x15", "67x63"}) {
    for (std::string_view type : {"f32", "i8", "u8", "i32", "i64"}) {
      for (std::string_view op : {"ArgMax", "ArgMin"}) {
        for (int last : {0, 1}) {
          // Few numbers, so that some are equal.
          const std::string text = fmt::format(
              "input %x: {}[{}] = noise({})\n%y = {}(%x) {{axis=1, select_last_index={}}}\noutput "
              "%y\n",
              type, shape,
              type == "f32"    ? "-1, 1"
              : type[0] == 'u' ? "0, 9"
                               : "-9, 9",
              op, last);
          SCOPED_TRACE(text);
          CheckKernel(kCpuReduceArg, text, kSameBits);
        }
      }
    }
  }
}

TEST(Narrow, Softmax) {
  for (std::string_view shape :
       {"1301x2", "301x3", "131x16", "241x5x3", "2x611x2", "1x403x3", "2x300x15", "9x1x4"}) {
    for (std::string_view op : {"Softmax", "LogSoftmax"}) {
      const std::string text =
          fmt::format("input %x: f32[{}]\n%y = {}(%x) {{axis=1}}\noutput %y\n", shape, op);
      SCOPED_TRACE(text);
      CheckKernel(kCpuSoftmaxRows, text, kNearby);
    }
  }
}

TEST(Narrow, RunningSums) {
  for (std::string_view shape : {"3x9x131", "1x17x600", "20x2x22", "5x7x3", "4x30x1", "3x6x9",
                                 "3x31x9", "2x17x16", "2x18x3"}) {
    for (std::string_view type : {"f32", "f64", "i32", "u64"}) {
      for (int form : {0, 1, 2, 3}) {
        for (std::string_view op : {"CumSum", "CumProd"}) {
          const std::string text = fmt::format(
              "input %x: {}[{}] = noise({})\nconst %a: i64[] = 1\n%y = {}(%x, %a) {{exclusive={}, "
              "reverse={}}}\noutput %y\n",
              type, shape,
              type[0] == 'u'   ? "0, 3"
              : type[0] == 'f' ? "-1, 1"
                               : "-3, 3",
              op, form / 2, form % 2);
          SCOPED_TRACE(text);
          CheckKernel(kCpuCumulate, text, type[0] == 'f' ? kNearby : kSameBits);
        }
      }
    }
  }
}

TEST(Narrow, GatherOfShortSlices) {
  struct Slices {
    std::string_view shape;
    int axis;
  };
  for (const auto& [shape, axis] :
       {Slices{"3x9x5x7x4", 1}, Slices{"70x5x7", 0}, Slices{"3x40x2", 1}, Slices{"9x4", 0},
        Slices{"5x3x9x1", 1}, Slices{"2x3x9001", 1}, Slices{"4x6x8", 2}, Slices{"11", 0},
        Slices{"700x3x9", 2}}) {
    for (std::string_view type : {"i8", "f16", "f32", "i64"}) {
      for (std::string_view indices : {"6", "2x5", ""}) {
        const std::string text = fmt::format(
            "input %x: {}[{}]\ninput %i: i64[{}] = noise(-3, 2)\n%y = Gather(%x, %i) "
            "{{axis={}}}\noutput %y\n",
            type, shape, indices, axis);
        SCOPED_TRACE(text);
        CheckKernel(kCpuGather, text, kSameBits);
      }
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
