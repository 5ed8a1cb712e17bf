#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/scene_steps.h"

namespace fettle::enhance {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>fettle enhance</title><style>
:root{color-scheme:light dark}
body{font:16px/1.5 sans-serif;max-width:1320px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em .2em 0;text-align:left;vertical-align:top}
th{border-bottom:1px solid #999}
.pair{position:relative;max-width:1280px;line-height:0;cursor:ew-resize}
.pair img{width:100%;pointer-events:none}
.pair .before{position:absolute;top:0;left:0;clip-path:inset(0 50% 0 0)}
.pair b{position:absolute;top:.6em;padding:0 .7em;border-radius:1em;background:#000a;color:#fff;font:14px/1.7 sans-serif}
.pair .left{left:.6em}.pair .right{right:.6em}
.pair i{position:absolute;top:0;bottom:0;left:50%;width:2px;margin-left:-1px;background:#fff;box-shadow:0 0 3px #000}
.pair+input{width:100%;max-width:1280px;margin:.5em 0 0}
</style></head><body>
)";

constexpr std::string_view kScript = R"(<script>
for(const pair of document.querySelectorAll('.pair')){
  const slider=pair.nextElementSibling;
  const cut=()=>{pair.querySelector('.before').style.clipPath='inset(0 '+(100-slider.value)+'% 0 0)';
    pair.querySelector('i').style.left=slider.value+'%';};
  slider.addEventListener('input',cut);
  pair.addEventListener('pointermove',event=>{const box=pair.getBoundingClientRect();
    slider.value=100*(event.clientX-box.left)/box.width;cut();});
}
</script></body></html>
)";

std::string Escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += letter;
    }
  }
  return result;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      result += k <= count ? kLetters[three >> (18 - 6 * k) & 63] : '=';
  }
  return result;
}

std::string Row(const std::vector<std::string>& cells, std::string_view kind = "td") {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", kind, Escaped(cell));
  return row + "</tr>\n";
}

std::string SceneTable(const SceneRecord& scene) {
  const auto pair = [](const char* what, double before, double after, int digits) {
    return Row(
        {what, fmt::format("{:.{}f}", before, digits), fmt::format("{:.{}f}", after, digits)});
  };
  return "<table>\n" + Row({"", "before", "after"}, "th") +
         pair("light, of 255", scene.before.light, scene.after.light, 0) +
         pair("range, of 255", scene.before.contrast, scene.after.contrast, 0) +
         pair("noise, sigma of 255", scene.before.noise, scene.after.noise, 2) +
         pair("steps at blocks over others", scene.before.blockiness, scene.after.blockiness, 2) +
         "</table>\n";
}

std::string SceneText(const Plan& plan, const SceneRecord& scene) {
  std::string text =
      fmt::format("<section><h2>Scene {}</h2><p>From frame {} on", scene.number + 1, scene.first);
  if (scene.frames > 0)
    text += fmt::format(": {} frames, {:.2f} frames a second</p>\n", scene.frames,
                        static_cast<double>(scene.frames) / std::max(scene.seconds, 1e-6));
  else
    text += ": done by an earlier run</p>\n";
  if (scene.frames > 0)
    text +=
        fmt::format("<p>{}</p>\n", Escaped(TextOf(StepsOf(plan.chain, plan.first, scene.seen))));
  if (scene.sampled) text += SceneTable(scene);
  if (!scene.after_jpeg.empty())
    text += fmt::format(
        "<div class=\"pair\"><img alt=\"after\" src=\"data:image/jpeg;base64,{}\">"
        "<img class=\"before\" alt=\"before\" src=\"data:image/jpeg;base64,{}\">"
        "<i></i><b class=\"left\">before</b><b class=\"right\">after</b></div>"
        "<input type=\"range\" min=\"0\" max=\"100\" value=\"50\" aria-label=\"before and "
        "after\">\n",
        Base64(scene.after_jpeg), Base64(scene.before_jpeg));
  return text + "</section>\n";
}

}  // namespace

std::string ReportPage(const Plan& plan, const JobResult& result) {
  std::string page(kHead);
  page +=
      fmt::format("<h1>{}</h1>\n<p>{}x{} became {}x{}, {} frames in, {} out, {:.1f} s</p>\n",
                  Escaped(plan.output.filename().string()), plan.first.width, plan.first.height,
                  result.width, result.height, result.frames_in, result.frames_out, result.seconds);
  page += "<table>\n" + Row({"step", "ms a frame", "gain"}, "th");
  for (const StepTime& time : result.times)
    page += Row({time.step, fmt::format("{:.2f}", time.ms), time.gain});
  page += "</table>\n<table>\n" + Row({"", "chosen", "because"}, "th");
  for (const Choice& choice : plan.choices)
    page += Row({choice.what, choice.choice, choice.reason});
  for (const std::string& loss : plan.losses) page += Row({"not kept", loss, ""});
  page += "</table>\n";
  for (const SceneRecord& scene : result.scenes) page += SceneText(plan, scene);
  return page.append(kScript);
}

}  // namespace fettle::enhance
