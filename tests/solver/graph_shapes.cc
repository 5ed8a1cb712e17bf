#include "tests/solver/graph_shapes.h"

#include <cmath>
#include <random>

namespace fettle::solver {
namespace {

constexpr int kLayouts = 4;
constexpr int kPrecisions = 2;
constexpr int kStates = kLayouts * kPrecisions;
constexpr int StateOf(int layout, int precision) { return layout * kPrecisions + precision; }

/// Made-up device: what a layout gives of the peak, and the peak by precision.
constexpr double kLayoutSpeed[kLayouts] = {0.45, 0.8, 0.9, 1.0};
constexpr double kFlopsPerUs[kPrecisions] = {6e4, 1.1e5};
constexpr double kBytesPerUs = 8e3;

/// A tensor and its extents.
struct Map {
  int tensor = 0;
  int channels = 0;
  int side = 0;
};

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, bool fused) : random_(seed), fused_(fused) {}

  Map Input(int channels, int side) {
    const Map map = Make(channels, side);
    problem_.tensors.back().given = {0};
    return map;
  }

  void Output(const Map& map) {
    problem_.tensors[static_cast<size_t>(map.tensor)].wanted = {StateOf(0, 0)};
  }

  /// A convolution and, where fusing is on, its activation.
  Map Conv(const Map& in, int channels, int kernel = 3, int stride = 1) {
    const int side = (in.side + stride - 1) / stride;
    const double flops = 2.0 * kernel * kernel * in.channels * channels * side * side;
    const int node = problem_.nodes++;
    const Map out = Make(channels, side);
    AddConv({node}, in, out, flops);
    if (!fused_) return out;
    const int activation = problem_.nodes++;
    const Map activated = Make(channels, side);
    AddAnyLayout({activation}, {out}, activated);
    AddConv({node, activation}, in, activated, flops);
    return activated;
  }

  Map Depthwise(const Map& in, int stride) {
    const int node = problem_.nodes++;
    const int side = (in.side + stride - 1) / stride;
    const Map out = Make(in.channels, side);
    AddConv({node}, in, out, 60.0 * in.channels * side * side);
    return out;
  }

  Map AnyLayout(const std::vector<Map>& in, int channels, int side) {
    const int node = problem_.nodes++;
    const Map out = Make(channels, side);
    AddAnyLayout({node}, in, out);
    return out;
  }
  Map Add(const std::vector<Map>& in) { return AnyLayout(in, in[0].channels, in[0].side); }
  Map Concat(const std::vector<Map>& in) {
    int channels = 0;
    for (const Map& map : in) channels += map.channels;
    return AnyLayout(in, channels, in[0].side);
  }
  Map Resize(const Map& in, int side) { return AnyLayout({in}, in.channels, side); }

  Problem Take() { return std::move(problem_); }

 private:
  double Spread() { return std::exp(std::normal_distribution<double>(0, 0.25)(random_)); }

  static double BytesOf(const Map& map, int state) {
    return (state % kPrecisions == 0 ? 4.0 : 1.0) * map.channels * map.side * map.side;
  }

  Map Make(int channels, int side) {
    const Map map{static_cast<int>(problem_.tensors.size()), channels, side};
    Tensor& tensor = problem_.tensors.emplace_back();
    tensor.name = "t" + std::to_string(map.tensor);
    for (int s = 0; s < kStates; ++s) {
      tensor.states.push_back("layout" + std::to_string(s / kPrecisions) +
                              (s % kPrecisions == 0 ? ":f32" : ":s8"));
    }
    for (int from = 0; from < kStates; ++from) {
      for (int to = 0; to < kStates; ++to) {
        if (from == to) continue;
        const double bytes = BytesOf(map, from) + BytesOf(map, to);
        const double slow = from / kPrecisions == to / kPrecisions ? 1 : 1.7;
        tensor.conversions.push_back({from, to, 1 + slow * bytes / kBytesPerUs * Spread(), 0});
      }
    }
    return map;
  }

  void AddConv(std::vector<int> nodes, const Map& in, const Map& out, double flops) {
    Group& group = problem_.groups.emplace_back();
    group.name = "conv" + std::to_string(nodes.front());
    group.nodes = std::move(nodes);
    group.inputs = {in.tensor};
    group.outputs = {out.tensor};
    const auto add = [&](int from, int to) {
      const int layout = std::max(from, to) / kPrecisions;
      const int precision = std::min(from % kPrecisions, to % kPrecisions);
      const double bytes = BytesOf(in, from) + BytesOf(out, to);
      const double time = flops / (kFlopsPerUs[precision] * kLayoutSpeed[layout]);
      const Cost cost = (time + bytes / kBytesPerUs) * Spread();
      group.choices.push_back({"c" + std::to_string(group.choices.size()), {from}, {to}, cost});
    };
    for (int s = 0; s < kStates; ++s) add(s, s);
    add(StateOf(0, 0), StateOf(2, 0));  // reads plain, writes blocked
    add(StateOf(1, 0), StateOf(3, 0));
    add(StateOf(1, 1), StateOf(1, 0));  // int8 in, fp32 out
  }

  void AddAnyLayout(std::vector<int> nodes, const std::vector<Map>& in, const Map& out) {
    Group& group = problem_.groups.emplace_back();
    group.name = "any" + std::to_string(nodes.front());
    group.nodes = std::move(nodes);
    for (const Map& map : in) group.inputs.push_back(map.tensor);
    group.outputs = {out.tensor};
    for (int s = 0; s < kStates; ++s) {
      double bytes = BytesOf(out, s);
      for (const Map& map : in) bytes += BytesOf(map, s);
      group.choices.push_back({"a" + std::to_string(s),
                               std::vector<int>(in.size(), s),
                               {s},
                               0.5 + bytes / kBytesPerUs * Spread()});
    }
  }

  std::mt19937_64 random_;
  bool fused_;
  Problem problem_;
};

void ResNet(GraphMaker& g) {
  Map x = g.Conv(g.Input(3, 224), 64, 7, 2);
  x = g.AnyLayout({x}, 64, 56);
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      const Map shortcut = block == 0 ? g.Conv(x, 4 * width, 1, stride) : x;
      const Map y = g.Conv(g.Conv(g.Conv(x, width, 1, stride), width, 3), 4 * width, 1);
      x = g.Add({y, shortcut});
    }
  }
  g.Output(g.Conv(g.AnyLayout({x}, 2048, 1), 1000, 1));
}

void Inception(GraphMaker& g) {
  Map x = g.AnyLayout({g.Conv(g.Input(3, 224), 64, 7, 2)}, 64, 56);
  x = g.AnyLayout({g.Conv(g.Conv(x, 64, 1), 192)}, 192, 28);
  for (int module = 0; module < 9; ++module) {
    const Map a = g.Conv(x, 64, 1);
    const Map b = g.Conv(g.Conv(x, 96, 1), 128);
    const Map c = g.Conv(g.Conv(x, 16, 1), 32, 5);
    const Map d = g.Conv(g.AnyLayout({x}, x.channels, x.side), 32, 1);
    x = g.Concat({a, b, c, d});
    if (module == 1 || module == 6) x = g.AnyLayout({x}, x.channels, x.side / 2);
  }
  g.Output(g.Conv(g.AnyLayout({x}, x.channels, 1), 1000, 1));
}

void DenseNet(GraphMaker& g, bool chained) {
  Map x = g.AnyLayout({g.Conv(g.Input(3, 224), 64, 7, 2)}, 64, 56);
  const int layers[] = {6, 12, 24, 16};
  for (int block = 0; block < 4; ++block) {
    std::vector<Map> all = {x};
    for (int layer = 0; layer < layers[block]; ++layer) {
      const Map normed = g.AnyLayout({x}, x.channels, x.side);
      const Map middle = g.Conv(normed, 128, 1);
      all.push_back(g.Conv(g.AnyLayout({middle}, 128, x.side), 32));
      x = chained ? g.Concat({x, all.back()}) : g.Concat(all);
    }
    if (block == 3) break;
    const Map half = g.Conv(g.AnyLayout({x}, x.channels, x.side), x.channels / 2, 1);
    x = g.AnyLayout({half}, half.channels, half.side / 2);
  }
  g.Output(g.Conv(g.AnyLayout({x}, x.channels, 1), 1000, 1));
}

void UNet(GraphMaker& g, int depth) {
  std::vector<Map> skips;
  Map x = g.Input(3, 256);
  for (int level = 0; level < depth; ++level) {
    x = g.Conv(g.Conv(x, 32 << level), 32 << level);
    skips.push_back(x);
    x = g.AnyLayout({x}, x.channels, x.side / 2);
  }
  x = g.Conv(g.Conv(x, 32 << depth), 32 << depth);
  for (int level = depth - 1; level >= 0; --level) {
    const Map& skip = skips[static_cast<size_t>(level)];
    x = g.Conv(g.Concat({g.Resize(x, skip.side), skip}), 32 << level);
    x = g.Conv(x, 32 << level);
  }
  g.Output(g.Conv(x, 2, 1));
}

void UNetPlusPlus(GraphMaker& g, int depth) {
  std::vector<std::vector<Map>> grid(static_cast<size_t>(depth) + 1);
  Map x = g.Input(3, 256);
  for (int level = 0; level <= depth; ++level) {
    std::vector<Map>& row = grid[static_cast<size_t>(level)];
    row.push_back(g.Conv(g.Conv(x, 32 << level), 32 << level));
    x = g.AnyLayout({row.back()}, row.back().channels, row.back().side / 2);
    for (int up = level - 1; up >= 0; --up) {
      std::vector<Map>& target = grid[static_cast<size_t>(up)];
      std::vector<Map> parts = target;
      parts.push_back(g.Resize(grid[static_cast<size_t>(up) + 1].back(), target[0].side));
      target.push_back(g.Conv(g.Concat(parts), 32 << up));
    }
  }
  g.Output(g.Conv(grid[0].back(), 2, 1));
}

void Ssd(GraphMaker& g) {
  Map x = g.Conv(g.Input(3, 300), 32, 3, 2);
  const int strides[] = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};
  std::vector<Map> maps;
  for (int i = 0; i < 13; ++i) {
    x = g.Conv(g.Depthwise(x, strides[i]), std::min(1024, 64 << (i / 2)), 1);
    if (i == 10 || i == 12) maps.push_back(x);
  }
  for (int extra = 0; extra < 4; ++extra) {
    x = g.Conv(g.Conv(x, 256 >> (extra / 2), 1), 512 >> (extra / 2), 3, 2);
    maps.push_back(x);
  }
  for (const int outputs : {16, 84}) {
    std::vector<Map> heads;
    for (const Map& map : maps) {
      const Map head = g.Conv(map, outputs, 1);
      heads.push_back(g.AnyLayout({head}, head.channels * head.side * head.side, 1));
    }
    g.Output(g.AnyLayout({g.Concat(heads)}, 1000, 1));
  }
}

void BiFpn(GraphMaker& g, int repeats) {
  Map x = g.Conv(g.Input(3, 512), 32, 3, 2);
  std::vector<Map> levels;
  for (int level = 0; level < 6; ++level) {
    x = g.Conv(g.Conv(x, 64), 64, 3, 2);
    if (level > 0) levels.push_back(g.Conv(x, 64, 1));
  }
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<Map> down = levels;
    for (size_t i = levels.size() - 1; i-- > 0;) {
      down[i] = g.Conv(g.Add({levels[i], g.Resize(down[i + 1], levels[i].side)}), 64);
    }
    std::vector<Map> up = down;
    for (size_t i = 1; i < levels.size(); ++i) {
      const Map pooled = g.Resize(up[i - 1], levels[i].side);
      const bool is_last = i + 1 == levels.size();
      up[i] =
          g.Conv(is_last ? g.Add({levels[i], pooled}) : g.Add({levels[i], down[i], pooled}), 64);
    }
    levels = up;
  }
  for (const Map& level : levels) {
    g.Output(g.Conv(level, 36));
    g.Output(g.Conv(level, 90));
  }
}

void HrNet(GraphMaker& g, int fusions) {
  Map x = g.Conv(g.Conv(g.Input(3, 256), 64, 3, 2), 64, 3, 2);
  std::vector<Map> branches = {g.Conv(x, 32)};
  while (branches.size() < 4)
    branches.push_back(g.Conv(branches.back(), 32 << branches.size(), 3, 2));
  for (int fusion = 0; fusion < fusions; ++fusion) {
    for (Map& branch : branches) {
      branch = g.Add({g.Conv(g.Conv(branch, branch.channels), branch.channels), branch});
    }
    std::vector<Map> fused;
    for (const Map& to : branches) {
      std::vector<Map> parts;
      for (const Map& from : branches) {
        Map part = from;
        if (from.side > to.side) part = g.Conv(from, to.channels, 3, from.side / to.side);
        if (from.side < to.side) part = g.Resize(g.Conv(from, to.channels, 1), to.side);
        parts.push_back(part);
      }
      fused.push_back(g.Add(parts));
    }
    branches = fused;
  }
  g.Output(g.Conv(branches[0], 17, 1));
}

}  // namespace

std::vector<ShapedProblem> ShapedProblems(uint64_t seed, bool fused) {
  std::vector<ShapedProblem> problems;
  const auto add = [&](std::string name, auto build) {
    GraphMaker maker(seed, fused);
    build(maker);
    problems.push_back({std::move(name), maker.Take()});
  };
  add("resnet50", [](GraphMaker& g) { ResNet(g); });
  add("inception", [](GraphMaker& g) { Inception(g); });
  add("densenet121 chained", [](GraphMaker& g) { DenseNet(g, true); });
  add("densenet121 full", [](GraphMaker& g) { DenseNet(g, false); });
  add("unet depth 4", [](GraphMaker& g) { UNet(g, 4); });
  add("unet++ depth 4", [](GraphMaker& g) { UNetPlusPlus(g, 4); });
  add("mobilenet ssd", [](GraphMaker& g) { Ssd(g); });
  add("bifpn x1", [](GraphMaker& g) { BiFpn(g, 1); });
  add("bifpn x3", [](GraphMaker& g) { BiFpn(g, 3); });
  add("hrnet 4 fusions", [](GraphMaker& g) { HrNet(g, 4); });
  add("hrnet 8 fusions", [](GraphMaker& g) { HrNet(g, 8); });
  return problems;
}

}  // namespace fettle::solver
