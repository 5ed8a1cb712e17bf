// The enhancer's library as programs use it: C for what is refused, C++ for the rest.
#include <fettle/enhance.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fettle/enhance.hpp>
#include <thread>
#include <vector>

namespace fettle {
namespace {

constexpr int kWidth = 70, kHeight = 38;

struct Layout {
  fettle_pixels pixels;
  std::vector<std::pair<int, int>> planes;  // bytes of a row, rows
};
const Layout kLayouts[] = {{FETTLE_I420, {{70, 38}, {35, 19}, {35, 19}}},
                           {FETTLE_NV12, {{70, 38}, {70, 19}}},
                           {FETTLE_I422, {{70, 38}, {35, 38}, {35, 38}}},
                           {FETTLE_I444, {{70, 38}, {70, 38}, {70, 38}}},
                           {FETTLE_I420P10, {{140, 38}, {70, 19}, {70, 19}}},
                           {FETTLE_GRAY8, {{70, 38}}},
                           {FETTLE_RGB24, {{210, 38}}},
                           {FETTLE_BGR24, {{210, 38}}}};

/// Memory that ends where a page begins that nobody may read.
class Guarded {
 public:
  explicit Guarded(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    whole_ = (bytes + page - 1) / page * page + page;
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    data_ = memory_ + whole_ - page - bytes;
    bytes_ = bytes;
    mprotect(memory_ + whole_ - page, page, PROT_NONE);
  }
  ~Guarded() { munmap(memory_, whole_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  uint8_t* data() const { return data_; }
  /// From here on it may be read alone.
  void Protect() {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mprotect(memory_, whole_ - page, PROT_READ);
  }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t *memory_, *data_;
  size_t whole_, bytes_;
};

struct Picture {
  explicit Picture(const Layout& layout, int round = 0) {
    frame.pixels = layout.pixels;
    frame.width = kWidth;
    frame.height = kHeight;
    frame.time = 77 + round;
    const bool words = layout.pixels == FETTLE_I420P10;
    for (size_t i = 0; i < layout.planes.size(); ++i) {
      const auto [row, rows] = layout.planes[i];
      planes.push_back(std::make_unique<Guarded>(static_cast<size_t>(row) * rows));
      uint8_t* const data = planes.back()->data();
      for (int at = 0; at < row * rows; ++at) {
        const int level = 60 + (at % row * 7 + at / row * 5 + round) % 90;
        data[at] = static_cast<uint8_t>(words && at % 2 == 1 ? level / 64 : level);
      }
      planes.back()->Protect();
      frame.planes[i] = data;
      frame.strides[i] = row;
    }
  }
  fettle_frame frame = FETTLE_FRAME_INIT;
  std::vector<std::unique_ptr<Guarded>> planes;
};

TEST(Enhancer, DoublesFramesOfAllPixelsWithoutReadingBehindThem) {
  for (const char* steps : {"superres", "deblock,lowlight,sharpen", "denoise,contrast,clarity",
                            "deinterlace=2,sharpen"})
    for (const Layout& layout : kLayouts) {
      SCOPED_TRACE(testing::Message() << steps << " of pixels " << layout.pixels);
      const int scale = std::string(steps) == "superres" ? 2 : 1;
      const Picture picture(layout);
      Enhancer enhancer(layout.pixels, kWidth, kHeight, {.steps = steps});
      EXPECT_EQ(enhancer.Result().pixels, layout.pixels);
      const EnhancedFrame result = enhancer.Run(picture.frame);
      EXPECT_EQ(result->width, scale * kWidth);
      EXPECT_EQ(result->height, scale * kHeight);
      EXPECT_EQ(result->time, 77);
      ASSERT_NE(result->planes[0], nullptr);
      EXPECT_NE(result->planes[0], picture.frame.planes[0]);
      // As light as it was.
      const auto* bytes = static_cast<const uint8_t*>(result->planes[0]);
      if (scale == 2 && layout.pixels == FETTLE_I420) {
        int64_t sum = 0;
        for (int y = 0; y < result->height; ++y)
          for (int x = 0; x < result->width; ++x) sum += bytes[y * result->strides[0] + x];
        EXPECT_NEAR(static_cast<double>(sum) / result->width / result->height, 104, 3);
      }
    }
}

TEST(Enhancer, CopiesNothingWhereLayoutsAllow) {
  const Picture picture(kLayouts[0]), rgb(kLayouts[6]);
  Enhancer planar(FETTLE_I420, kWidth, kHeight);
  for (int i = 0; i < 3; ++i) planar.Run(picture.frame);
  EXPECT_EQ(planar.Facts().frames, 3);
  EXPECT_EQ(planar.Facts().copied_in, 0);
  EXPECT_EQ(planar.Facts().copied_out, 0);
  Enhancer converted(FETTLE_RGB24, kWidth, kHeight);
  converted.Run(rgb.frame);
  EXPECT_EQ(converted.Facts().copied_in, 1);
  EXPECT_EQ(converted.Facts().copied_out, 1);
}

TEST(Enhancer, GivesResultsThatOutliveItAndItsFrames) {
  std::optional<EnhancedFrame> passed, doubled;
  {
    const Picture picture(kLayouts[0]);
    // Bright frames pass low light as they are: their result is a copy all the same.
    passed.emplace(
        Enhancer(FETTLE_I420, kWidth, kHeight, {.steps = "lowlight"}).Run(picture.frame));
    doubled.emplace(Enhancer(FETTLE_I420, kWidth, kHeight).Run(picture.frame));
    EXPECT_EQ(std::memcmp(passed->get().planes[0], picture.frame.planes[0], kWidth), 0);
  }
  EXPECT_EQ(static_cast<const uint8_t*>(passed->get().planes[0])[0], 60);
  EnhancedFrame moved = std::move(*doubled);
  EXPECT_EQ(doubled->get().owner, nullptr);
  EXPECT_EQ(moved->width, 2 * kWidth);
}

TEST(Enhancer, KeepsStateUntilItIsReset) {
  const auto bytes = [](const EnhancedFrame& frame) {
    const auto* data = static_cast<const uint8_t*>(frame->planes[0]);
    return std::vector<uint8_t>(data, data + kWidth);
  };
  const Layout& grey = kLayouts[5];
  Picture dark(grey), light(grey, 40);
  Enhancer enhancer(FETTLE_GRAY8, kWidth, kHeight, {.steps = "contrast"});
  const std::vector<uint8_t> alone = bytes(enhancer.Run(dark.frame));
  enhancer.Run(light.frame);
  enhancer.Reset();
  EXPECT_EQ(bytes(enhancer.Run(dark.frame)), alone);
}

TEST(Enhancer, LeavesStepsOutForWhatItsTimeAllows) {
  for (const Layout& layout : kLayouts) {
    const Picture picture(layout);
    Enhancer enhancer(layout.pixels, kWidth, kHeight, {.latency_ms = 1e-6});
    const EnhancedFrame result = enhancer.Run(picture.frame);
    EXPECT_EQ(result->width, 2 * kWidth);
    EXPECT_EQ(enhancer.Facts().reduced, 1);
    EXPECT_EQ(enhancer.Facts().copied_in, 1) << "what scales reads behind rows";
  }
}

TEST(Enhancer, RunsInSeveralThreadsAtOnce) {
  const Picture picture(kLayouts[0]);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      Enhancer enhancer(FETTLE_I420, kWidth, kHeight);
      for (int frame = 0; frame < 3; ++frame)
        EXPECT_EQ(enhancer.Run(picture.frame)->width, 2 * kWidth);
    });
}

fettle_status Create(fettle_pixels pixels, int width, int height, const char* steps,
                     const char* network = nullptr) {
  fettle_enhancer_options options = FETTLE_ENHANCER_OPTIONS_INIT;
  options.steps = steps;
  options.network = network;
  fettle_enhancer* made = nullptr;
  const fettle_status status = fettle_enhancer_create(pixels, width, height, &options, &made);
  EXPECT_EQ(made == nullptr, status != FETTLE_OK);
  fettle_enhancer_free(made);
  return status;
}

TEST(Enhancer, RefusesWhatThereIsNot) {
  const auto says = [](const char* text) {
    EXPECT_NE(std::string(fettle_enhancer_error()).find(text), std::string::npos)
        << fettle_enhancer_error();
  };
  EXPECT_EQ(Create(static_cast<fettle_pixels>(99), 8, 8, nullptr), FETTLE_INVALID_ARGUMENT);
  says("unknown pixels 99");
  EXPECT_EQ(Create(FETTLE_I420, 0, 8, nullptr), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(Create(FETTLE_I420, 8, 1 << 20, nullptr), FETTLE_INVALID_ARGUMENT);
  says("1x1 to 16384x16384");
  EXPECT_EQ(Create(FETTLE_I420, 8, 8, "superes"), FETTLE_INVALID_ARGUMENT);
  says("did you mean 'superres'?");
  EXPECT_EQ(Create(FETTLE_I420, 8, 8, "superres", "huge"), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(Create(FETTLE_I420, 8, 8, "privacy"), FETTLE_UNSUPPORTED);
  EXPECT_EQ(Create(FETTLE_I422, 8, 8, "deepen"), FETTLE_UNSUPPORTED);
  says("yuv422p10");
  EXPECT_EQ(fettle_enhancer_create(FETTLE_I420, 8, 8, nullptr, nullptr), FETTLE_INVALID_ARGUMENT);
  for (const double wrong : {-1.0, std::nan("")}) {
    EXPECT_THROW(Enhancer(FETTLE_I420, 8, 8, {.latency_ms = wrong}), Error);
    EXPECT_THROW(Enhancer(FETTLE_I420, 8, 8, {.level = wrong}), Error);
  }
  fettle_enhancer_options none = {};
  fettle_enhancer* made = nullptr;
  EXPECT_EQ(fettle_enhancer_create(FETTLE_I420, 8, 8, &none, &made), FETTLE_INVALID_ARGUMENT);
  says("options.struct_size is 0");
}

TEST(Enhancer, RefusesFramesThatAreNotItsOwn) {
  const Picture picture(kLayouts[4]);
  fettle_enhancer* enhancer = nullptr;
  ASSERT_EQ(fettle_enhancer_create(FETTLE_I420P10, kWidth, kHeight, nullptr, &enhancer), FETTLE_OK);
  const auto refused = [&](auto&& change, const char* text) {
    fettle_frame frame = picture.frame, result = FETTLE_FRAME_INIT;
    change(frame);
    EXPECT_EQ(fettle_enhancer_run(enhancer, &frame, &result), FETTLE_INVALID_ARGUMENT) << text;
    EXPECT_NE(std::string(fettle_enhancer_error()).find(text), std::string::npos)
        << fettle_enhancer_error();
    EXPECT_EQ(result.owner, nullptr);
  };
  refused([](fettle_frame& frame) { frame.width = 64; }, "make another one");
  refused([](fettle_frame& frame) { frame.pixels = FETTLE_I420; }, "make another one");
  refused([](fettle_frame& frame) { frame.planes[2] = nullptr; }, "plane 2 of the frame is NULL");
  refused([](fettle_frame& frame) { frame.strides[1] = 68; },
          "stride of 68 bytes, and a row has 70");
  refused([](fettle_frame& frame) { frame.strides[0] = -140; }, "stride of -140 bytes");
  refused([](fettle_frame& frame) { frame.strides[0] = 141; }, "not aligned to 2 bytes");
  refused([](fettle_frame& frame) { frame.strides[0] = int64_t{1} << 40; }, "stride of");
  refused([](fettle_frame& frame) { frame.struct_size = 8; }, "frame.struct_size is 8");
  fettle_frame result = FETTLE_FRAME_INIT;
  EXPECT_EQ(fettle_enhancer_run(enhancer, nullptr, &result), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_enhancer_run(nullptr, &picture.frame, &result), FETTLE_INVALID_ARGUMENT);
  // And goes on.
  EXPECT_EQ(fettle_enhancer_run(enhancer, &picture.frame, &result), FETTLE_OK);
  fettle_enhancer_free(enhancer);
  EXPECT_EQ(result.width, 2 * kWidth);
  fettle_frame_release(&result);
  fettle_frame_release(&result);
  fettle_frame_release(nullptr);
  EXPECT_EQ(result.planes[0], nullptr);
}

}  // namespace
}  // namespace fettle
