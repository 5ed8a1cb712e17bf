// superres: luma by a network of models/, strip by strip; chroma and alpha by Lanczos.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fettle/fettle.hpp>
#include <map>
#include <mutex>

#include "picture/doubling.h"
#include "steps/networks.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

/// Pixels that a strip aims at: its layers stay in the second-level cache, and memory does not grow
/// with the picture.
constexpr int kStripPixels = 80'000;
constexpr int kLeastRows = 32;
/// How far the mean of a result may be from its source's before it is taken for an error.
constexpr double kMeanTolerance = 0.1;

const Model& LoadedModel(const Network& network) {
  static std::mutex mutex;
  static std::map<std::string_view, Model> models;
  const std::lock_guard lock(mutex);
  const auto found = models.find(network.name);
  if (found != models.end()) return found->second;
  auto loaded = Model::LoadBytes(network.bytes, std::string(network.name));
  return models.emplace(network.name, std::move(loaded).value()).first->second;
}

/// All strips have one height, so that one plan computes them: the last begins earlier.
int StripRows(int width, int height, int halo) {
  const int rows = std::max(kLeastRows, kStripPixels / width) + 2 * halo;
  return std::min(rows, height);
}

class Superres : public Step {
 public:
  explicit Superres(const StepSetup& setup)
      : strength_(static_cast<float>(setup.strength)),
        network_(*FindNetwork(setup.network, av_pix_fmt_desc_get(setup.format)->comp[0].depth)),
        rows_(StripRows(setup.width, setup.height, network_.halo)),
        session_(Session::Create(LoadedModel(network_), {.threads = 1}).value()),
        input_(Tensor::Create(FETTLE_F32, {1, 1, rows_, setup.width}).value()),
        output_(Tensor::Create(FETTLE_F32, {1, 1, 2 * rows_, 2 * setup.width}).value()) {
    session_.SetInput("luma", input_).value();
    session_.SetOutput("enhanced", output_).value();
  }

  FramePtr Apply(FramePtr frame) override {
    FramePtr result = NewFrameLike(*frame, 2 * frame->width, 2 * frame->height);
    Luma(PlaneOf(*frame, 0), PlaneOf(*result, 0));
    for (int plane = 1; plane < PlaneCount(*frame); ++plane)
      doubling_.Run(PlaneOf(*frame, plane), PlaneOf(*result, plane), ShiftOf(*frame, plane));
    return result;
  }

 private:
  void Luma(const Plane& from, const Plane& to) {
    if (strength_ < 1) {
      plain_.resize(static_cast<size_t>(to.width) * to.height);
      doubling_.Run(from, to.width, to.height, {}, plain_.data());
    }
    double total = 0;
    for (int done = 0; done < from.height;) {
      const int first = std::clamp(done - network_.halo, 0, from.height - rows_);
      const bool last = first + rows_ == from.height;
      const int end = last ? from.height : first + rows_ - network_.halo;
      total += Strip(from, first, done, end, to);
      done = end;
    }
    const double mean = total / to.width / to.height;
    if (!std::isfinite(mean) || std::abs(mean - MeanOf(from)) > kMeanTolerance)
      throw Failure(kExitFailed, "superres: the result is no picture (its mean is off)");
  }

  /// Computes rows from `first` on and keeps [begin, end) of them.
  double Strip(const Plane& from, int first, int begin, int end, const Plane& to) {
    ReadRows(from, first, rows_, input_.as<float>().data());
    session_.Run().value();
    float* values =
        output_.as<float>().data() + static_cast<ptrdiff_t>(2) * (begin - first) * to.width;
    if (strength_ < 1) {
      const float* plain = plain_.data() + static_cast<ptrdiff_t>(2) * begin * to.width;
      const ptrdiff_t count = static_cast<ptrdiff_t>(2) * (end - begin) * to.width;
      for (ptrdiff_t i = 0; i < count; ++i)
        values[i] = plain[i] + strength_ * (values[i] - plain[i]);
    }
    return WriteRows(values, 2 * begin, 2 * (end - begin), to);
  }

  const float strength_;
  const Network network_;
  const int rows_;
  Session session_;
  Tensor input_, output_;
  Doubling doubling_;
  std::vector<float> plain_;
};

}  // namespace

std::unique_ptr<Step> MakeSuperres(const StepSetup& setup) {
  return std::make_unique<Superres>(setup);
}

}  // namespace fettle::enhance
