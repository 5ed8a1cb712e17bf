// Everything that is decided before work starts, each with its reason.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alert/trail.h"
#include "analysis/advice.h"
#include "av/container.h"
#include "av/encoder.h"
#include "av/input.h"
#include "job/pace.h"
#include "steps/step.h"

namespace fettle::enhance {

class FolderRecord;

/// The command line, for one input.
struct JobOptions {
  std::filesystem::path input, output;
  std::filesystem::path plan_file;   // of --plan
  std::filesystem::path report;      // page to write; empty: none
  std::filesystem::path alert_file;  // empty: the output's name and .alerts.json
  std::optional<double> alert_score;
  std::string alert_votes;   // "3/5"; empty: the usual ones
  std::string steps;         // empty: what the input needs
  std::string network;       // empty: the widest that `fps` or `budget` allows
  std::string kept_network;  // that a job which goes on began with; empty: none
  std::string budget = "realtime", encoder = "auto", preset;
  double fps = 0;             // 0: the input's
  Cut cut;                    // what is done of a video
  int width = 0, height = 0;  // of the result; 0: what the steps make
  int crf = -1;               // -1: the encoder's usual one
  int threads = 0;            // 0: all cores, or those of the unfinished job
  bool overwrite = false, restart = false, dither = false, preview = false, plan_only = false,
       strict = false, explain = false, skip_existing = false, recursive = false;
  std::shared_ptr<FolderRecord> record;  // of the folder that the input is one of; null: of none
  bool paced = false;  // the rate was asked for, as by `fps`: networks change where it is missed
};

/// "encoder", "libx264 crf=18", "the first of this FFmpeg that mp4 takes".
struct Choice {
  std::string what, choice, reason;
};

struct Plan {
  std::filesystem::path input, output;
  Cut cut;
  bool picture = false;
  int orientation = 1;  // of a picture, as Exif tells it
  std::vector<ChainLink> chain;
  std::optional<Survey> survey;  // where it was needed
  StepSetup first;               // of the chain's first step
  AVPixelFormat source_format = AV_PIX_FMT_NONE;
  bool transparent = false;  // the source shows some
  EncoderSetup encoder;
  AVRational pixel_shape = {1, 1};  // of the result's pixels, over that of the input's
  AVRational frame_clock = {0, 1};  // what the container counts frames in, where it has no times
  int64_t begin = 0;           // the first frame's, which is 0 then, in the encoder's time base
  bool one_tick_each = false;  // of the frame clock, whatever times frames have
  Pace pace;                   // where networks may change on the way
  std::optional<double> processor_share;  // that other programs leave, where speed was judged
  int threads = 1;
  int64_t expected_frames = 0;  // 0: not known
  double seconds = 0;           // of the video; 0: not known
  std::vector<StreamFate> streams;
  LightData light;
  std::map<std::string, std::string> muxer_options;
  std::map<int, double> counter_shifts;  // of streams that the container moves: added, in seconds
  std::optional<AlertRules> alerts;      // of the step, where the chain has it
  std::filesystem::path alert_file;      // that is written then
  bool alerts_only = false;              // and nothing else: the output's name ends in .json
  std::vector<std::string> losses;
  // Of these: what a small output tells of packets beside the video, until the whole one is read.
  std::vector<std::string> moved_streams;
  bool frames_have_times = true;  // in the output
  double shift = 0;               // of all frames there, in seconds
  bool strict = false;            // a loss is a failure
  std::vector<Choice> choices;
  std::map<std::string_view, std::string> gains;  // of steps, as measured on samples
  std::filesystem::path previews;                 // folder of split pictures; empty: none
  bool pictures = false;                          // of scenes are wanted in the result
  std::shared_ptr<FolderRecord> record;           // that is told of the output; null: none is

  std::string GainOf(const StepRow& row) const {
    const auto found = gains.find(row.name);
    return found == gains.end() ? "" : found->second;
  }
};

/// Reads the first frame. Throws Failure; with `strict` where something is lost
/// (kExitUnsupported).
Plan MakePlan(const JobOptions& options);

/// Where the result goes if nobody says: NAME_enhanced beside the input, in its container where
/// that keeps times and carries video of an encoder here, else in Matroska.
std::filesystem::path UsualOutput(const std::filesystem::path& input);

}  // namespace fettle::enhance
