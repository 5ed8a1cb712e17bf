#include "io/inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "io/named_argument.h"
#include "io/tensor_io.h"
#include "ir/value_text.h"
#include "jobs/exit_code.h"

namespace fettle::tools {
namespace {

const ir::Value* FindInput(const ir::Graph& graph, std::string_view name) {
  for (ir::ValueId id : graph.inputs)
    if (graph.value(id).name == name) return &graph.value(id);
  return nullptr;
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

bool SameBytes(DType want, DType got) {
  return (want == DType::kI4 && got == DType::kI8) || (want == DType::kU4 && got == DType::kU8);
}

/// The input with the extents that --shape gives it.
ir::Value WithShape(ir::Value input, const Shape& declared) {
  if (input.shape) input.shape = declared;
  return input;
}

struct Loader {
  const InputOptions& options;
  std::vector<std::string>& warnings;
  BoundInputs& bound;

  Result<Tensor> Read(const ir::Value& value, const std::string& file) {
    ASSIGN_OR_RETURN(const Shape declared, DeclaredShape(value, options.shapes));
    switch (FileKindOf(file)) {
      case FileKind::kPicture: return ReadPictureInput(value, declared, file);
      case FileKind::kRaw: return ReadRaw(file, value.dtype, declared);
      case FileKind::kNpy:
      case FileKind::kPb: break;
    }
    ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(file));
    ASSIGN_OR_RETURN(tensor, AsInputType(std::move(tensor), value));
    RETURN_IF_ERROR(ir::CheckInputShape(WithShape(value, declared), tensor.shape()));
    return tensor;
  }

  Result<Tensor> ReadPictureInput(const ir::Value& value, const Shape& declared,
                                  const std::string& file) {
    ASSIGN_OR_RETURN(const Picture picture, ReadPicture(file));
    if (picture.orientation != 1)
      warnings.push_back(fmt::format("{}: turned upright, as its Exif orientation {} says", file,
                                     picture.orientation));
    if (!value.shape)
      return InvalidArgument("input '{}' has no declared shape, so it takes no picture",
                             value.name);
    if (!bound.picture) bound.picture = picture;
    auto tensor = PictureToTensor(picture, options.preprocess, value.dtype, declared, warnings);
    if (!tensor.ok()) return tensor.status().WithContext(fmt::format("input '{}'", value.name));
    return tensor;
  }
};

/// False where `dtype` is of integers and none is `constant`.
Result<bool> HoldsConstant(DType dtype, double constant) {
  constexpr double kLimit = 0x1p63;
  if (!IsInteger(dtype)) return true;
  if (!(constant >= -kLimit && constant < kLimit) || std::trunc(constant) != constant) return false;
  ASSIGN_OR_RETURN(const Tensor one, Tensor::Create(dtype, Shape{1}));
  one.view().SetInt(0, static_cast<int64_t>(constant));
  return one.view().GetDouble(0) == constant;
}

Result<Tensor> FillTensor(const ir::Value& value, const Shape& shape, double constant) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(value.dtype, shape));
  const HostView view = tensor.view();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (IsInteger(value.dtype)) {
      view.SetInt(i, static_cast<int64_t>(constant));
    } else {
      view.SetDouble(i, constant);
    }
  }
  return tensor;
}

bool IsTaken(const std::vector<InputArgument>& matched, const std::string& name) {
  return std::ranges::find(matched, name, &InputArgument::name) != matched.end();
}

/// NAME=FILE; without a name where no input has it.
InputArgument Named(const ir::Graph& graph, const std::string& argument) {
  auto named = SplitNamed(
      argument, [&](const NamedText& split) { return FindInput(graph, split.name) != nullptr; });
  if (!named) return {};
  return {.name = std::move(named->name), .file = std::move(named->text)};
}

/// The first input that nobody has named, for a file without a name.
Result<InputArgument> NextUnnamed(const ir::Graph& graph, const std::string& argument,
                                  const std::vector<InputArgument>& matched) {
  const std::string name = FirstName(argument);
  if (name != argument && !FileExists(argument))
    return InvalidArgument("no input '{}'; the model has {}", name, InputNames(graph, name));
  for (ir::ValueId id : graph.inputs) {
    const std::string& next = graph.value(id).name;
    if (!IsTaken(matched, next)) return InputArgument{.name = next, .file = argument};
  }
  return InvalidArgument("unexpected input '{}'; the model has {}", argument, InputNames(graph));
}

/// The number of const:NUMBER, which the input must be able to hold.
Result<double> ReadConstant(const ir::Graph& graph, const InputArgument& input) {
  double value = 0;
  const char* begin = input.file.data() + std::string_view("const:").size();
  const char* end = input.file.data() + input.file.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end)
    return InvalidArgument("input '{}': expected const:NUMBER, got '{}'", input.name, input.file);
  const DType dtype = FindInput(graph, input.name)->dtype;
  ASSIGN_OR_RETURN(const bool holds, HoldsConstant(dtype, value));
  if (!holds)
    return InvalidArgument("input '{}': {} does not fit in {}", input.name, value,
                           DTypeName(dtype));
  return value;
}

}  // namespace

std::string InputNames(const ir::Graph& graph, std::string_view nearest_to) {
  return NearestNames(nearest_to, ir::NamesOfValues(graph, graph.inputs));
}

Result<Shape> DeclaredShape(const ir::Value& value, const std::map<std::string, Shape>& shapes) {
  const auto given = shapes.find(value.name);
  if (given == shapes.end()) return value.shape.value_or(Shape());
  if (!ir::FitsShape(value, given->second))
    return InvalidArgument("input '{}': --shape {} contradicts the model's {}", value.name,
                           given->second.ToString(), value.shape->ToString());
  return given->second;
}

Result<Tensor> AsInputType(Tensor tensor, const ir::Value& value) {
  if (tensor.dtype() == value.dtype) return tensor;
  const bool narrow = tensor.dtype() == DType::kF32 && IsFloat(value.dtype) &&
                      value.dtype != DType::kF16 && value.dtype != DType::kF64;
  if (!narrow && !SameBytes(value.dtype, tensor.dtype())) {
    return InvalidArgument("input '{}': expected {}, got {}", value.name, DTypeName(value.dtype),
                           DTypeName(tensor.dtype()));
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Create(value.dtype, tensor.shape()));
  const HostView from = tensor.view(), to = out.view();
  for (int64_t i = 0; i < tensor.elements(); ++i) to.SetDouble(i, from.GetDouble(i));
  return out;
}

std::map<std::string, Tensor> BoundInputs::tensors() const {
  std::map<std::string, Tensor> map;
  for (const BoundInput& input : inputs) map.emplace(input.name, input.tensor);
  return map;
}

std::map<std::string, Shape> BoundInputs::shapes() const {
  std::map<std::string, Shape> map;
  for (const BoundInput& input : inputs) map.emplace(input.name, input.tensor.shape());
  return map;
}

bool LooksLikeImage(const Shape& shape) {
  if (shape.rank() != 4) return false;
  const auto colour = [&](int axis) { return shape[axis] == 1 || shape[axis] == 3; };
  const auto spatial = [&](int axis) { return shape[axis] < 0 || shape[axis] > 3; };
  return (colour(1) && spatial(2) && spatial(3)) || (colour(3) && spatial(1) && spatial(2));
}

Result<Tensor> SeedTensor(const std::string& name, DType dtype, const Shape& shape, bool image,
                          uint64_t seed) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  const HostView view = tensor.view();
  uint64_t state = HashText(name, seed);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const uint64_t bits = NextRandom(state);
    if (!IsFloat(dtype)) {
      view.SetInt(i, static_cast<int64_t>(bits >> 63));
      continue;
    }
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
    view.SetDouble(i, image ? unit : 2 * unit - 1);
  }
  return tensor;
}

Result<std::vector<InputArgument>> MatchInputs(const ir::Graph& graph,
                                               const std::vector<std::string>& arguments) {
  std::vector<InputArgument> matched;
  for (const std::string& argument : arguments) {
    InputArgument input = Named(graph, argument);
    if (!input.name.empty() && IsTaken(matched, input.name))
      return InvalidArgument("input '{}' is given twice", input.name);
    if (input.name.empty()) {
      ASSIGN_OR_RETURN(input, NextUnnamed(graph, argument, matched));
    }
    if (input.file.empty())
      return InvalidArgument("input '{}': a file name is missing", input.name);
    if (input.file.starts_with("const:")) {
      ASSIGN_OR_RETURN(input.constant, ReadConstant(graph, input));
      input.file.clear();
    }
    matched.push_back(std::move(input));
  }
  return matched;
}

Result<BoundInputs> BindInputs(const ir::Graph& graph, const std::vector<InputArgument>& arguments,
                               const InputOptions& options, const CompleteShapes& complete,
                               std::vector<std::string>& warnings) {
  BoundInputs bound;
  Loader loader{options, warnings, bound};
  std::map<std::string, Tensor> read;
  std::map<std::string, Shape> shapes = options.shapes;
  for (const InputArgument& argument : arguments) {
    if (argument.constant) continue;
    auto tensor = loader.Read(*FindInput(graph, argument.name), argument.file);
    if (!tensor.ok()) return AsInvalidInput(tensor.status());
    shapes.insert_or_assign(argument.name, tensor->shape());
    read.emplace(argument.name, *std::move(tensor));
  }
  ASSIGN_OR_RETURN(shapes, complete(std::move(shapes)));
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    const auto argument =
        std::find_if(arguments.begin(), arguments.end(),
                     [&](const InputArgument& other) { return other.name == value.name; });
    BoundInput input{value.name, {}, ""};
    const Shape& shape = shapes[value.name];
    if (argument == arguments.end()) {
      ASSIGN_OR_RETURN(input.tensor, SeedTensor(value.name, value.dtype, shape,
                                                LooksLikeImage(shape), options.seed));
    } else if (argument->constant) {
      ASSIGN_OR_RETURN(input.tensor, FillTensor(value, shape, *argument->constant));
    } else {
      input.tensor = read.at(value.name);
      input.source = argument->file;
    }
    bound.inputs.push_back(std::move(input));
  }
  return bound;
}

}  // namespace fettle::tools
