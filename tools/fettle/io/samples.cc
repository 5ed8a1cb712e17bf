#include "io/samples.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>

#include "io/inputs.h"
#include "io/tensor_io.h"
#include "jobs/exit_code.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

bool HoldsSamples(const std::string& path) {
  if (IsForeignPictureName(path)) return false;
  const FileKind kind = FileKindOf(path);
  return kind == FileKind::kNpy || kind == FileKind::kPb || kind == FileKind::kPicture;
}

/// `count` positions, at most `limit` of them, in order.
std::vector<size_t> Choose(size_t count, size_t limit, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (count <= limit) return order;
  // Fisher and Yates; the distributions of the standard library differ between implementations.
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < limit; ++i) std::swap(order[i], order[i + random() % (count - i)]);
  order.resize(limit);
  std::sort(order.begin(), order.end());
  return order;
}

std::string OpenShape(const Shape& shape) {
  std::string text;
  for (int64_t extent : shape)
    text += fmt::format("{}{}", text.empty() ? "" : "x", extent < 0 ? "?" : std::to_string(extent));
  return text.empty() ? "scalar" : text;
}

bool Fits(const Shape& wanted, const Shape& shape) {
  if (wanted.rank() != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (wanted[i] >= 0 && wanted[i] != shape[i]) return false;
  return true;
}

Status CheckFinite(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return OkStatus();
  const HostView view = tensor.view();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = view.GetDouble(i);
    if (!std::isfinite(value)) return InvalidArgument("element {} is {}", i, value);
  }
  return OkStatus();
}

/// Part `index` of `count` equal ones along the first axis; shares the bytes.
Tensor Part(const Tensor& tensor, const Shape& shape, int64_t index) {
  const int64_t bytes = StorageBytes(tensor.dtype(), shape.elements());
  return Tensor::Borrow(tensor.dtype(), shape, tensor.data() + index * bytes, tensor.storage());
}

/// The samples of one input.
class InputReader {
 public:
  InputReader(const ir::Value& value, const SampleOptions& options,
              std::vector<std::string>& warnings)
      : value_(value), options_(options), warnings_(warnings) {}

  Status AddPath(const std::string& path) {
    if (!IsDirectory(path)) {
      if (!FileExists(path)) return InvalidArgument("{}: no such file or folder", path);
      if (!HoldsSamples(path))
        return InvalidArgument("{}: expected a folder, .npy, .pb, .png or .jpg", path);
      files_.push_back(path);
      return OkStatus();
    }
    std::vector<std::string> found;
    int64_t others = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      const std::string name = entry.path().string();
      if (entry.is_regular_file() && HoldsSamples(name)) {
        found.push_back(name);
      } else {
        ++others;
      }
    }
    if (error) return InvalidArgument("{}: {}", path, error.message());
    if (found.empty()) return InvalidArgument("{}: the folder has no picture and no array", path);
    if (others > 0)
      warnings_.push_back(
          fmt::format("{}: {} left out, neither pictures nor arrays", path, Count(others, "file")));
    std::sort(found.begin(), found.end());
    files_.insert(files_.end(), found.begin(), found.end());
    return OkStatus();
  }

  Result<std::vector<Tensor>> Read() {
    ASSIGN_OR_RETURN(wanted_, DeclaredShape(value_, options_.shapes));
    has_shape_ = value_.shape || options_.shapes.contains(value_.name);
    if (wanted_.rank() > 0 && wanted_[0] < 0) wanted_[0] = 1;
    for (size_t i : Choose(files_.size(), options_.limit, options_.seed)) {
      if (options_.cancelled != nullptr && *options_.cancelled)
        return Error(StatusCode::kCancelled, "interrupted");
      const Status status = AsInvalidInput(ReadFile(files_[i]));
      if (!status.ok())
        return status.message().starts_with(files_[i]) ? status : status.WithContext(files_[i]);
    }
    if (resized_ > 0)
      warnings_.push_back(
          fmt::format("input '{}': {} resized", value_.name, Count(resized_, "picture")));
    std::vector<Tensor> chosen;
    for (size_t i : Choose(samples_.size(), options_.limit, options_.seed))
      chosen.push_back(samples_[i]);
    return chosen;
  }

 private:
  Status ReadFile(const std::string& file) {
    return FileKindOf(file) == FileKind::kPicture ? ReadPictureFile(file) : ReadArray(file);
  }

  Status ReadPictureFile(const std::string& file) {
    if (!has_shape_ || !wanted_.IsConcrete())
      return InvalidArgument(
          "input '{}' has open extents ({}), for pictures give them, as --shape {}=1x{}x224x224",
          value_.name, has_shape_ ? OpenShape(wanted_) : "no shape", value_.name,
          has_shape_ && wanted_.rank() == 4 && wanted_[1] > 0 ? wanted_[1] : 3);
    ASSIGN_OR_RETURN(const Picture picture, ReadPicture(file));
    std::vector<std::string> said;
    ASSIGN_OR_RETURN(Tensor tensor,
                     PictureToTensor(picture, options_.preprocess, value_.dtype, wanted_, said));
    resized_ += said.empty() ? 0 : 1;
    samples_.push_back(std::move(tensor));
    return OkStatus();
  }

  Status ReadArray(const std::string& file) {
    ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(file));
    ASSIGN_OR_RETURN(tensor, AsInputType(std::move(tensor), value_));
    RETURN_IF_ERROR(CheckFinite(tensor));
    if (tensor.elements() == 0) return InvalidArgument("the array is empty");
    return Split(tensor);
  }

  Status Split(const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    if (!has_shape_ || Fits(wanted_, shape)) {
      samples_.push_back(tensor);
      return OkStatus();
    }
    // One more axis, or several batches behind each other.
    Shape one(Dims(shape.begin() + std::min(1, shape.rank()), shape.end()));
    if (!Fits(wanted_, one)) {
      one = shape;
      if (wanted_.rank() != shape.rank() || wanted_.rank() == 0 || wanted_[0] < 1 ||
          shape[0] % wanted_[0] != 0)
        return Misfit(shape);
      one[0] = wanted_[0];
      if (!Fits(wanted_, one)) return Misfit(shape);
    }
    const int64_t parts = shape.elements() / one.elements();
    for (int64_t i = 0; i < parts; ++i) samples_.push_back(Part(tensor, one, i));
    return OkStatus();
  }

  Status Misfit(const Shape& shape) const {
    return InvalidArgument("input '{}': expected shape {} or several of it, got {}", value_.name,
                           OpenShape(wanted_), shape.ToString());
  }

  const ir::Value& value_;
  const SampleOptions& options_;
  std::vector<std::string>& warnings_;
  std::vector<std::string> files_;
  Shape wanted_;
  bool has_shape_ = false;
  std::vector<Tensor> samples_;
  int64_t resized_ = 0;
};

/// The input that `[NAME=]PATH` is for, and the path.
Result<std::pair<std::string, std::string>> ParseData(const ir::Graph& graph,
                                                      const std::string& argument) {
  for (ir::ValueId id : graph.inputs) {
    const std::string start = graph.value(id).name + "=";
    if (argument.starts_with(start))
      return std::pair(graph.value(id).name, argument.substr(start.size()));
  }
  if (graph.inputs.size() == 1) return std::pair(graph.value(graph.inputs[0]).name, argument);
  return InvalidArgument("--data {}: say which input it is for, NAME=PATH; the model has {}",
                         argument, InputNames(graph));
}

}  // namespace

Result<SampleList> ReadSamples(const ir::Graph& graph, const std::vector<std::string>& data,
                               const SampleOptions& options, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<std::string>> paths;
  for (const std::string& argument : data) {
    ASSIGN_OR_RETURN(const auto named, ParseData(graph, argument));
    paths[named.first].push_back(named.second);
  }
  for (const auto& [name, shape] : options.shapes)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(),
                     [&, &name = name](ir::ValueId id) { return graph.value(id).name == name; }))
      return InvalidArgument("--shape: no input '{}'; the model has {}", name,
                             InputNames(graph, name));
  SampleList samples;
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    if (!paths.contains(value.name))
      return InvalidArgument("input '{}' has no data; the model has {}", value.name,
                             InputNames(graph));
    InputReader reader(value, options, warnings);
    for (const std::string& path : paths[value.name]) RETURN_IF_ERROR(reader.AddPath(path));
    ASSIGN_OR_RETURN(std::vector<Tensor> tensors, reader.Read());
    if (samples.empty()) samples.resize(tensors.size());
    if (samples.size() != tensors.size())
      return InvalidArgument("input '{}' has {}, the inputs before it {}", value.name,
                             Count(std::ssize(tensors), "sample"), samples.size());
    for (size_t i = 0; i < samples.size(); ++i) samples[i].emplace(value.name, tensors[i]);
  }
  if (samples.empty()) return InvalidArgument("the model has no inputs to calibrate on");
  return samples;
}

}  // namespace fettle::tools
