#include "io/picture_tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fettle::tools {
namespace {

constexpr std::array<float, 3> kImageNetMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, 3> kImageNetDeviation = {0.229f, 0.224f, 0.225f};

float Forward(Preprocess preprocess, float sample, size_t c) {
  switch (preprocess) {
    case Preprocess::kNone: return sample * 255.0f;
    case Preprocess::kImageNet: return (sample - kImageNetMean[c]) / kImageNetDeviation[c];
    case Preprocess::kUnit:
    case Preprocess::kY: return sample;
  }
  return sample;
}

float Backward(Preprocess preprocess, float value, size_t c) {
  switch (preprocess) {
    case Preprocess::kNone: return value / 255.0f;
    case Preprocess::kImageNet: return value * kImageNetDeviation[c] + kImageNetMean[c];
    case Preprocess::kUnit:
    case Preprocess::kY: return value;
  }
  return value;
}

/// The picture with as many channels as the model wants: grey is repeated, colour becomes luma.
Picture WithChannels(const Picture& picture, int channels) {
  if (picture.channels == channels) return picture;
  Picture out = picture;
  out.channels = channels;
  out.samples.clear();
  for (size_t i = 0; i < static_cast<size_t>(picture.pixels()); ++i) {
    if (channels == 3) {
      out.samples.insert(out.samples.end(), 3, picture.samples[i]);
    } else {
      float ycc[3];
      RgbToYcc(picture.samples.data() + 3 * i, ycc);
      out.samples.push_back(ycc[0]);
    }
  }
  return out;
}

int64_t Stride(const Dims& strides, int axis) {
  return axis < 0 ? 0 : strides[static_cast<size_t>(axis)];
}

/// Calls `visit(offset, channel)` in the order in which pictures hold their samples.
template <typename Visit>
void ForEachSample(const HostView& view, const PictureAxes& axes, Visit visit) {
  const int64_t channels = axes.channels < 0 ? 1 : view.shape[axes.channels];
  for (int64_t y = 0; y < view.shape[axes.height]; ++y)
    for (int64_t x = 0; x < view.shape[axes.width]; ++x)
      for (int64_t c = 0; c < channels; ++c)
        visit(c * Stride(view.strides, axes.channels) + y * Stride(view.strides, axes.height) +
                  x * Stride(view.strides, axes.width),
              static_cast<size_t>(c));
}

/// What `shape` leaves open is the picture's.
Shape ShapeFor(const Picture& picture, Preprocess preprocess, const PictureAxes& axes,
               const Shape& shape) {
  Shape concrete = shape;
  if (shape.rank() == 4 && shape[0] < 0) concrete[0] = 1;
  if (concrete[axes.height] < 0) concrete[axes.height] = picture.height;
  if (concrete[axes.width] < 0) concrete[axes.width] = picture.width;
  if (axes.channels >= 0 && concrete[axes.channels] < 0)
    concrete[axes.channels] = preprocess == Preprocess::kY ? 1 : 3;
  return concrete;
}

/// Puts the colours of `source` under a luma picture.
Picture AddColours(const Picture& luma, const Picture& source) {
  const Picture colour = Resize(source, luma.width, luma.height);
  Picture out = luma;
  out.channels = 3;
  out.samples.resize(static_cast<size_t>(out.pixels()) * 3);
  for (size_t i = 0; i < static_cast<size_t>(out.pixels()); ++i) {
    float ycc[3];
    RgbToYcc(colour.samples.data() + 3 * i, ycc);
    ycc[0] = luma.samples[i];
    YccToRgb(ycc, out.samples.data() + 3 * i);
  }
  return out;
}

}  // namespace

Result<Preprocess> ParsePreprocess(const std::string& text) {
  if (text == "none") return Preprocess::kNone;
  if (text == "unit") return Preprocess::kUnit;
  if (text == "imagenet") return Preprocess::kImageNet;
  if (text == "y") return Preprocess::kY;
  return InvalidArgument("--preprocess: expected none|unit|imagenet|y, got '{}'", text);
}

std::optional<PictureAxes> FindPictureAxes(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 2) return PictureAxes{-1, 0, 1};
  if (rank < 3 || rank > 4 || (rank == 4 && shape[0] > 1)) return std::nullopt;
  const auto colour = [](int64_t extent) { return extent == 1 || extent == 3; };
  if (colour(shape[rank - 3])) return PictureAxes{rank - 3, rank - 2, rank - 1};
  if (colour(shape[rank - 1])) return PictureAxes{rank - 1, rank - 3, rank - 2};
  // Unknown channels: ONNX models put them first.
  if (shape[rank - 3] < 0) return PictureAxes{rank - 3, rank - 2, rank - 1};
  return std::nullopt;
}

Result<Tensor> PictureToTensor(const Picture& picture, Preprocess preprocess, DType dtype,
                               const Shape& shape, std::vector<std::string>& warnings) {
  const std::optional<PictureAxes> axes = FindPictureAxes(shape);
  if (!axes) return InvalidArgument("an input of shape {} takes no picture", shape.ToString());
  const Shape concrete = ShapeFor(picture, preprocess, *axes, shape);
  const int64_t channels = axes->channels < 0 ? 1 : concrete[axes->channels];
  if (preprocess == Preprocess::kY && channels != 1)
    return InvalidArgument("--preprocess y: the input has {} channels, expected 1", channels);
  if (preprocess == Preprocess::kImageNet && channels != 3)
    return InvalidArgument("--preprocess imagenet: the input has {} channels, expected 3",
                           channels);
  const int64_t height = concrete[axes->height], width = concrete[axes->width];
  Picture fitted = WithChannels(picture, static_cast<int>(channels));
  if (width != picture.width || height != picture.height) {
    if (width < 1 || height < 1 || !concrete.CheckedElements())
      return InvalidArgument("an input of shape {} takes no picture", concrete.ToString());
    warnings.push_back(fmt::format("the picture is resized from {}x{} to {}x{}", picture.width,
                                   picture.height, width, height));
    fitted = Resize(fitted, width, height);
  }
  // Integer inputs take the bytes that the file holds.
  if (!IsFloat(dtype) && preprocess == Preprocess::kUnit) preprocess = Preprocess::kNone;
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, concrete));
  const HostView view = tensor.view();
  ForEachSample(view, *axes, [&, from = size_t{0}](int64_t offset, size_t channel) mutable {
    const float value = Forward(preprocess, fitted.samples[from++], channel);
    view.SetDouble(offset, IsFloat(dtype) ? value : std::round(value));
  });
  return tensor;
}

Result<Picture> TensorToPicture(const Tensor& tensor, Preprocess preprocess,
                                const std::optional<Picture>& source) {
  const std::optional<PictureAxes> axes = FindPictureAxes(tensor.shape());
  if (!axes || tensor.elements() == 0)
    return InvalidArgument("a tensor of shape {} is not a picture", tensor.shape().ToString());
  Picture picture{.width = tensor.shape()[axes->width], .height = tensor.shape()[axes->height]};
  picture.channels = axes->channels < 0 ? 1 : static_cast<int>(tensor.shape()[axes->channels]);
  picture.bits = source ? source->bits : 8;
  if (preprocess == Preprocess::kImageNet && picture.channels != 3) preprocess = Preprocess::kUnit;
  if (!IsFloat(tensor.dtype())) preprocess = Preprocess::kNone;
  const HostView view = tensor.view();
  picture.samples.reserve(static_cast<size_t>(tensor.elements()));
  ForEachSample(view, *axes, [&](int64_t offset, size_t channel) {
    picture.samples.push_back(
        Backward(preprocess, static_cast<float>(view.GetDouble(offset)), channel));
  });
  if (source && !source->alpha.empty()) {
    picture.alpha = ResizeSamples(source->alpha, 1, source->width, source->height, picture.width,
                                  picture.height);
  }
  if (preprocess == Preprocess::kY && source && source->channels == 3 && picture.channels == 1)
    return AddColours(picture, *source);
  return picture;
}

}  // namespace fettle::tools
