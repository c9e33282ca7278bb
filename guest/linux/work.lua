-- SPDX-License-Identifier: MIT
-- work.lua - strings, tables, integers and floating point
local t = {}
for i = 1, 4000 do t[i] = (i * 7919) % 4001 end
table.sort(t)
local s = 0
for i, v in ipairs(t) do s = (s * 31 + v * i) % 1000003 end
print("sort", s)
local parts = {}
for w in ("the cat sat on the mat "):rep(200):gmatch("%a+") do parts[#parts + 1] = w:upper() end
print("words", #parts, #table.concat(parts, "-"))
local x, n = 0.0, 0
for i = 1, 20000 do x = x + math.sin(i) / i; if x > 1 then n = n + 1 end end
print("float", string.format("%.12f", x), n)
local function fib(k) return k < 2 and k or fib(k - 1) + fib(k - 2) end
print("fib", fib(18))
