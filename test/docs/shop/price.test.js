import assert from 'node:assert/strict'
import { test } from 'node:test'
import { label, total } from './price.js'

const milk = { price: 0.1, count: 3 }

test('adds up the items', () =>
  assert.equal(
    total([
      { price: 2, count: 3 },
      { price: 1, count: 1 },
    ]),
    7,
  ))
test('nothing costs nothing', () => assert.equal(total([]), 0))
test('rounds to whole cents', () => assert.equal(total([milk]), 0.3))
test('writes an amount', () => assert.equal(label(7), '7.00 EUR'))
test('writes cents', () => assert.equal(label(0.5), '0.50 EUR'))
test('writes large amounts', () => assert.equal(label(1234567), '1234567.00 EUR'))
