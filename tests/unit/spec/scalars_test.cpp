// Scalars mean one thing.
#include "spec/scalars.h"

#include <gtest/gtest.h>

#include <limits>

#include "spec/load.h"

namespace headwright::spec {
namespace {

Node value(const std::string& written) { return *parse("a: " + written, "f").find("a"); }

template <class T>
std::string text_of(const Read<T>& read) {
  if (read.value) return read.message.empty() ? "accepted" : "accepted with a message";
  return read.message;
}

std::string integer(const std::string& written) { return text_of(as_integer(value(written))); }
std::string number(const std::string& written) { return text_of(as_number(value(written))); }
std::string text(const std::string& written) { return text_of(as_text(value(written))); }
std::string boolean(const std::string& written) { return text_of(as_bool(value(written))); }

TEST(Integer, IsDecimal) {
  EXPECT_EQ(as_integer(value("0")).value, 0);
  EXPECT_EQ(as_integer(value("-12")).value, -12);
  EXPECT_EQ(as_integer(value("9223372036854775807")).value, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(as_integer(value("-9223372036854775808")).value, std::numeric_limits<std::int64_t>::min());
}

TEST(Integer, SaysHowToWriteItInDecimal) {
  EXPECT_EQ(integer("0x10"), "got 0x10, expected an integer; write it in decimal: 16");
  EXPECT_EQ(integer("-0x10"), "got -0x10, expected an integer; write it in decimal: -16");
  EXPECT_EQ(integer("010"), "got 010, expected an integer; write it in decimal: 10");
  EXPECT_EQ(integer("0o17"), "got 0o17, expected an integer; write it in decimal: 15");
  EXPECT_EQ(integer("0b101"), "got 0b101, expected an integer; write it in decimal: 5");
  EXPECT_EQ(integer("1_000"), "got 1_000, expected an integer; write it in decimal: 1000");
  EXPECT_EQ(integer("+5"), "got +5, expected an integer; write it in decimal: 5");
  EXPECT_EQ(integer("1e3"), "got 1e3, expected an integer; write it in full: 1000");
  EXPECT_EQ(integer("8.0"), "got 8.0, expected an integer; write it in full: 8");
  EXPECT_EQ(integer("'8'"), "got \"8\", expected an integer; leave the quotes out: 8");
}

TEST(Integer, RefusesEverythingElse) {
  EXPECT_EQ(integer("8.5"), "got 8.5, expected an integer");
  EXPECT_EQ(integer("1e30"), "got 1e30, expected an integer");
  EXPECT_EQ(integer("9223372036854775808"), "got 9223372036854775808, expected an integer within 64 bits");
  EXPECT_EQ(integer("99999999999999999999"), "got 99999999999999999999, expected an integer within 64 bits");
  EXPECT_EQ(integer("0xffffffffffffffffffff"), "got 0xffffffffffffffffffff, expected an integer");
  EXPECT_EQ(integer("true"), "got true, expected an integer");
  EXPECT_EQ(integer("eight"), "got eight, expected an integer");
  EXPECT_EQ(integer("8 "), "accepted");
  EXPECT_EQ(integer("8a"), "got 8a, expected an integer");
  EXPECT_EQ(integer(""), "got nothing, expected an integer");
  EXPECT_EQ(integer("[8]"), "got a list, expected an integer");
  EXPECT_EQ(integer("{b: 8}"), "got a map, expected an integer");
}

TEST(Number, IsDecimalWithPointOrExponentOrAnInteger) {
  EXPECT_EQ(as_number(value("8")).value, 8.0);
  EXPECT_EQ(as_number(value("-0.5")).value, -0.5);
  EXPECT_EQ(as_number(value(".43")).value, 0.43);
  EXPECT_EQ(as_number(value("1.")).value, 1.0);
  EXPECT_EQ(as_number(value("1e-5")).value, 1e-5);
  EXPECT_EQ(as_number(value("1.5E+3")).value, 1500.0);
  EXPECT_EQ(as_number(value("99999999999999999999")).value, 1e20);
}

TEST(Number, IsFinite) {
  for (const auto* written : {".nan", ".inf", "-.inf", ".NaN", "inf", "nan"}) {
    EXPECT_EQ(number(written), std::string("got ") + written + ", expected a finite number");
  }
  EXPECT_EQ(number("1e999"), "got 1e999, expected a number that a 64-bit float can hold");
  EXPECT_EQ(number("1e-999"), "got 1e-999, expected a number that a 64-bit float can hold");
}

TEST(Number, RefusesWhatReadersDisagreeAbout) {
  EXPECT_EQ(number("010"), "got 010, expected a number; write it in decimal: 10");
  EXPECT_EQ(number("0x10"), "got 0x10, expected a number; write it in decimal: 16");
  EXPECT_EQ(number("1_000"), "got 1_000, expected a number; write it in decimal: 1000");
  EXPECT_EQ(number("+1.5"), "got +1.5, expected a number; write it without the plus: 1.5");
  EXPECT_EQ(number("0,5"), "got 0,5, expected a number; write it with a point: 0.5");
  EXPECT_EQ(number("'0.5'"), "got \"0.5\", expected a number; leave the quotes out: 0.5");
  EXPECT_EQ(number("."), "got ., expected a number");
  EXPECT_EQ(number("1e"), "got 1e, expected a number");
  EXPECT_EQ(number("1.2.3"), "got 1.2.3, expected a number");
  EXPECT_EQ(number("00.5"), "got 00.5, expected a number");
  EXPECT_EQ(number("yes"), "got yes, expected a number");
}

TEST(Bool, IsTrueOrFalse) {
  EXPECT_EQ(as_bool(value("true")).value, true);
  EXPECT_EQ(as_bool(value("false")).value, false);
  EXPECT_EQ(boolean("yes"), "got yes, expected true or false; write true");
  EXPECT_EQ(boolean("Off"), "got Off, expected true or false; write false");
  EXPECT_EQ(boolean("True"), "got True, expected true or false; write true");
  EXPECT_EQ(boolean("1"), "got 1, expected true or false; write true");
  EXPECT_EQ(boolean("'true'"), "got \"true\", expected true or false; leave the quotes out");
  EXPECT_EQ(boolean("maybe"), "got maybe, expected true or false");
  EXPECT_EQ(boolean(""), "got nothing, expected true or false");
}

TEST(Text, IsPlainWhereNobodyReadsItAsSomethingElse) {
  EXPECT_EQ(as_text(value("softmax")).value, "softmax");
  EXPECT_EQ(as_text(value("a/b.npy")).value, "a/b.npy");
  EXPECT_EQ(as_text(value("3.4.1")).value, "3.4.1");
  EXPECT_EQ(as_text(value("_1")).value, "_1");
  EXPECT_EQ(as_text(value("cuda:0")).value, "cuda:0");
  EXPECT_EQ(text("8"), "got 8, expected text; put it in quotes if it is meant: \"8\"");
  for (const auto* written : {"1.5", "1e5", "0x10", "010", "1_000", "true", "yes", "off", ".nan", "-.inf"}) {
    EXPECT_EQ(text(written).substr(0, 4), "got ") << written;
    EXPECT_EQ(as_text(value("'" + std::string(written) + "'")).value, written);
  }
  EXPECT_EQ(text(""), "got nothing, expected text");
  EXPECT_EQ(as_text(value("''")).value, "");
}

TEST(Null, IsNothingOrTheWordWithoutQuotes) {
  for (const auto* written : {"", "~", "null", "NULL"}) EXPECT_TRUE(is_null(value(written))) << written;
  for (const auto* written : {"''", "'null'", "0", "[]", "{}", "nil"}) EXPECT_FALSE(is_null(value(written))) << written;
  EXPECT_TRUE(is_null({.type = Node::Type::scalar, .text = "null"}));
}

}  // namespace
}  // namespace headwright::spec
