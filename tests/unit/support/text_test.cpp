// Text helpers.
#include "support/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace headwright::support {
namespace {

const std::vector<std::string> kKnown{"d_head", "d_model", "n_heads", "n_kv_heads",   "window_size", "dropout",
                                      "mask",   "name",    "norm",    "feed_forward", "final_norm",  "context_length"};

std::string hint(std::string_view got) { return nearest(got, kKnown).value_or("none"); }

TEST(Nearest, FindsTheKeyOfASlipInOneLetter) {
  EXPECT_EQ(hint("n_head"), "n_heads");
  EXPECT_EQ(hint("n_hedas"), "n_heads");  // two neighbours swapped
  EXPECT_EQ(hint("dropoutt"), "dropout");
  EXPECT_EQ(hint("msk"), "mask");
  EXPECT_EQ(hint("d-model"), "d_model");
  EXPECT_EQ(hint("D_Model"), "d_model");
}

TEST(Nearest, PrefersWhatSharesBeginningAndEnd) {
  // one edit from d_head as well as from n_heads
  EXPECT_EQ(hint("n_head"), "n_heads");
  EXPECT_EQ(hint("d_heads"), "d_head");
}

TEST(Nearest, FindsANameOfWhichAWordWasGiven) {
  EXPECT_EQ(hint("windw"), "window_size");
  EXPECT_EQ(hint("heads"), "n_heads");
  EXPECT_EQ(hint("context"), "context_length");
}

TEST(Nearest, StaysSilentWhereNothingIsClose) {
  EXPECT_EQ(hint("zzz"), "none");
  EXPECT_EQ(hint("hidden_size"), "none");
  EXPECT_EQ(hint(""), "none");
  EXPECT_EQ(hint("q"), "none");
  EXPECT_EQ(nearest("name", {}), std::nullopt);
}

TEST(Nearest, EndsAtOnceForAVeryLongName) { EXPECT_EQ(hint(std::string(1 << 20, 'n')), "none"); }

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a.b..c", '.'), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", '.'), (std::vector<std::string>{""}));
  EXPECT_EQ(join(split("a.b..c", '.'), "."), "a.b..c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, GroupsThousands) {
  EXPECT_EQ(with_thousands(124439808), "124,439,808");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(-999), "-999");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, WritesBytesWithAUnit) {
  EXPECT_EQ(bytes_text(13194139533312.0), "12.0 TiB");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.0 MiB");  // and not 1024.0 KiB
  EXPECT_EQ(bytes_text(1e30), "more than 1024 EiB");
}

TEST(Text, WritesTheShortestNumberThatReadsBack) {
  for (const double number : {0.1, 1e-5, 1e22, -2.5, 1.0 / 3, 5e-324, 1.7976931348623157e308}) {
    EXPECT_EQ(std::strtod(number_text(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(10000), "10000");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b[31m\n\t\x7f"), "a\\x1b[31m\\n\\t\\x7f");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");  // a one-character escape sequence
  EXPECT_EQ(printable(std::string("\xe2\x80").append("\xae") + "abc"),
            "\\u202eabc");  // would be shown backwards
  EXPECT_EQ(printable("größe 世界"), "größe 世界");
}

TEST(Printable, CutsAtACharacter) {
  EXPECT_EQ(printable("ééééé", 3), "ééé...");
  EXPECT_EQ(printable("ééé", 3), "ééé");
}

TEST(Utf8, FindsTheFirstByteThatIsNone) {
  EXPECT_EQ(invalid_utf8("größe 世界 😀"), std::nullopt);
  EXPECT_EQ(invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(invalid_utf8("ab\xc3"), 2U);            // cut short
  EXPECT_EQ(invalid_utf8("a\xc0\xaf"), 1U);         // '/' in an overlong form
  EXPECT_EQ(invalid_utf8("\xed\xa0\x80"), 0U);      // a surrogate
  EXPECT_EQ(invalid_utf8("\xf4\x90\x80\x80"), 0U);  // past U+10FFFF
  EXPECT_EQ(invalid_utf8("\x80"), 0U);
}

TEST(Utf8, CountsCharactersNotBytes) { EXPECT_EQ(count_characters("é世😀a"), 4U); }

}  // namespace
}  // namespace headwright::support
