#include "demo_model.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace fettle::demo {
namespace {

/// Just enough of the protocol buffer encoding to write a model (onnx.proto of ONNX 1.13 gives the
/// field numbers).
class Message {
 public:
  Message& Int(int field, int64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& Float(int field, float value) {
    Varint((static_cast<uint64_t>(field) << 3) | 5);
    const auto* bytes = reinterpret_cast<const char*>(&value);
    bytes_.append(bytes, sizeof(value));
    return *this;
  }
  Message& Bytes(int field, std::string_view bytes) {
    Varint((static_cast<uint64_t>(field) << 3) | 2);
    Varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& Add(int field, const Message& message) { return Bytes(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

constexpr int kFloat = 1, kInt64 = 7;  // TensorProto.DataType
constexpr int kTap = 5;                // extent of the unsharp kernel

template <typename T>
Message Initialiser(std::string_view name, int type, std::initializer_list<int64_t> dims,
                    const std::vector<T>& values) {
  Message tensor;
  for (int64_t extent : dims) tensor.Int(1, extent);
  tensor.Int(2, type).Bytes(8, name);
  return tensor.Bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

Message IntAttribute(std::string_view name, int64_t value) {
  return Message().Bytes(1, name).Int(3, value).Int(20, 2);
}
Message FloatAttribute(std::string_view name, float value) {
  return Message().Bytes(1, name).Float(2, value).Int(20, 1);
}
Message TextAttribute(std::string_view name, std::string_view value) {
  return Message().Bytes(1, name).Bytes(4, value).Int(20, 3);
}

Message Node(std::string_view op, std::initializer_list<std::string_view> inputs,
             std::string_view output, std::initializer_list<Message> attributes) {
  Message node;
  for (std::string_view input : inputs) node.Bytes(1, input);
  node.Bytes(2, output).Bytes(3, output).Bytes(4, op);
  for (const Message& attribute : attributes) node.Add(5, attribute);
  return node;
}

/// f32[1,3,height,width] with the given names for the open extents.
Message PictureValue(std::string_view name, std::string_view height, std::string_view width) {
  Message shape;
  for (int64_t extent : {1, 3}) shape.Add(1, Message().Int(1, extent));
  for (std::string_view symbol : {height, width}) shape.Add(1, Message().Bytes(2, symbol));
  const Message tensor = Message().Int(1, kFloat).Add(2, shape);
  return Message().Bytes(1, name).Add(2, Message().Add(1, tensor));
}

/// Unsharp masking: the picture plus `amount` times what a Gaussian blur takes away. The weights
/// add up to 1, so that flat areas keep their colour.
std::vector<float> UnsharpKernel(double sigma, double amount) {
  std::array<double, kTap> gauss{};
  double sum = 0;
  for (int i = 0; i < kTap; ++i) {
    const double x = i - kTap / 2;
    gauss[static_cast<size_t>(i)] = std::exp(-x * x / (2 * sigma * sigma));
    sum += gauss[static_cast<size_t>(i)];
  }
  std::vector<float> weights;
  for (size_t y = 0; y < kTap; ++y) {
    for (size_t x = 0; x < kTap; ++x) {
      const bool centre = y == kTap / 2 && x == kTap / 2;
      const double blur = gauss[y] * gauss[x] / (sum * sum);
      weights.push_back(static_cast<float>((centre ? 1 + amount : 0) - amount * blur));
    }
  }
  return weights;
}

}  // namespace

std::string DemoModel() {
  constexpr double kSigma = 1.2, kAmount = 0.6;
  const std::vector<float> kernel = UnsharpKernel(kSigma, kAmount);
  std::vector<float> weights;
  for (int channel = 0; channel < 3; ++channel)
    weights.insert(weights.end(), kernel.begin(), kernel.end());
  Message graph;
  graph
      .Add(1, Node("Resize", {"picture", "", "scales"}, "doubled",
                   {TextAttribute("mode", "cubic"), FloatAttribute("cubic_coeff_a", -0.5f),
                    TextAttribute("coordinate_transformation_mode", "half_pixel")}))
      // Repeating the edge, where zeros would darken the border.
      .Add(1, Node("Pad", {"doubled", "pads"}, "padded", {TextAttribute("mode", "edge")}))
      .Add(1, Node("Conv", {"padded", "unsharp"}, "sharpened", {IntAttribute("group", 3)}))
      .Add(1, Node("Clip", {"sharpened", "low", "high"}, "enhanced", {}))
      .Bytes(2, "enhance_x2")
      .Add(5, Initialiser<float>("scales", kFloat, {4}, {1, 1, 2, 2}))
      .Add(5, Initialiser<int64_t>("pads", kInt64, {8}, {0, 0, 2, 2, 0, 0, 2, 2}))
      .Add(5, Initialiser<float>("unsharp", kFloat, {3, 1, kTap, kTap}, weights))
      .Add(5, Initialiser<float>("low", kFloat, {}, {0}))
      .Add(5, Initialiser<float>("high", kFloat, {}, {1}))
      .Add(11, PictureValue("picture", "height", "width"))
      .Add(12, PictureValue("enhanced", "height_x2", "width_x2"));
  return Message()
      .Int(1, 8)
      .Bytes(2, "fettle-demo")
      .Add(7, graph)
      .Add(8, Message().Bytes(1, "").Int(2, 18))
      .bytes();
}

}  // namespace fettle::demo
