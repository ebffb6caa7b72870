export const total = (items) => items.reduce((sum, { price, count }) => sum + price * count, 0)

export const label = (amount) => `${amount.toFixed(2)} EUR`
