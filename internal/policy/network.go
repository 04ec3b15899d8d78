package policy

import "math"

// The loops below are the trainer's time. They take four rows at once, so that
// a number loaded is used four times, and skip units that ReLU has switched
// off: about half of them. Products are rounded explicitly before they are
// added; see portable.go.

// forward computes the hidden layers and the logits of an observation. Features
// must be below the model's.
func (l *layers) forward(features []int32, h1, h2 *row, logits []float32) {
	*h1 = *l.inBias
	addRows(h1, l.in, features)
	var live units
	live.rectify(h1)
	*h2 = *l.midBias
	addScaled(h2, l.mid, h1, &live)
	live.rectify(h2)
	for a := range logits {
		logits[a] = l.outBias[a&(hidden-1)] + dot(&l.out[a], h2, &live)
	}
}

// backward adds the gradient of one decision to g: given d(objective)/d(logits)
// and what forward computed for those features.
func (l *layers) backward(g *layers, features []int32, h1, h2 *row, dLogits []float32) {
	var d2, d1 row
	for a, d := range dLogits {
		g.outBias[a&(hidden-1)] += d
		w, gw := &l.out[a], &g.out[a]
		for j := range d2 {
			d2[j] += float32(w[j] * d)
			gw[j] += float32(h2[j] * d)
		}
	}
	var live2, live1 units
	live2.find(h2)
	live1.find(h1)
	live2.keep(&d2)
	add(g.midBias, &d2)
	l.backwardMid(g, h1, &d1, &d2, &live1, &live2)
	add(g.inBias, &d1)
	addToRows(g.in, features, &d1, &live1)
}

// backwardMid is backward through layer two, for the live units of layer one.
func (l *layers) backwardMid(g *layers, h1, d1, d2 *row, live1, live2 *units) {
	i := 0
	for ; i+4 <= live1.n; i += 4 {
		a, b, c, d := live1.at(i), live1.at(i+1), live1.at(i+2), live1.at(i+3)
		wa, wb, wc, wd := &l.mid[a], &l.mid[b], &l.mid[c], &l.mid[d]
		ga, gb, gc, gd := &g.mid[a], &g.mid[b], &g.mid[c], &g.mid[d]
		ha, hb, hc, hd := h1[a], h1[b], h1[c], h1[d]
		var sa, sb, sc, sd float32
		for _, j := range live2.list() {
			x := d2[j&(hidden-1)]
			sa += float32(wa[j&(hidden-1)] * x)
			ga[j&(hidden-1)] += float32(ha * x)
			sb += float32(wb[j&(hidden-1)] * x)
			gb[j&(hidden-1)] += float32(hb * x)
			sc += float32(wc[j&(hidden-1)] * x)
			gc[j&(hidden-1)] += float32(hc * x)
			sd += float32(wd[j&(hidden-1)] * x)
			gd[j&(hidden-1)] += float32(hd * x)
		}
		d1[a], d1[b], d1[c], d1[d] = sa, sb, sc, sd
	}
	for ; i < live1.n; i++ {
		a := live1.at(i)
		wa, ga, ha := &l.mid[a], &g.mid[a], h1[a]
		var sa float32
		for _, j := range live2.list() {
			x := d2[j&(hidden-1)]
			sa += float32(wa[j&(hidden-1)] * x)
			ga[j&(hidden-1)] += float32(ha * x)
		}
		d1[a] = sa
	}
}

// addRows adds the named rows to sum.
func addRows(sum *row, rows []row, names []int32) {
	for ; len(names) >= 4; names = names[4:] {
		a, b, c, d := &rows[names[0]], &rows[names[1]], &rows[names[2]], &rows[names[3]]
		for j := range sum {
			sum[j] += (a[j] + b[j]) + (c[j] + d[j])
		}
	}
	for _, f := range names {
		add(sum, &rows[f])
	}
}

// addScaled adds h[i] times row i to sum, for the live units i.
func addScaled(sum *row, rows *[hidden]row, h *row, live *units) {
	i := 0
	for ; i+4 <= live.n; i += 4 {
		a, b, c, d := live.at(i), live.at(i+1), live.at(i+2), live.at(i+3)
		ra, rb, rc, rd := &rows[a], &rows[b], &rows[c], &rows[d]
		ha, hb, hc, hd := h[a], h[b], h[c], h[d]
		for j := range sum {
			sum[j] += (float32(ha*ra[j]) + float32(hb*rb[j])) + (float32(hc*rc[j]) + float32(hd*rd[j]))
		}
	}
	for ; i < live.n; i++ {
		a := live.at(i)
		ra, ha := &rows[a], h[a]
		for j := range sum {
			sum[j] += float32(ha * ra[j])
		}
	}
}

// addToRows adds d to each of the named rows; d is zero but for the live units.
func addToRows(rows []row, names []int32, d *row, live *units) {
	for ; len(names) >= 4; names = names[4:] {
		a, b, c, e := &rows[names[0]], &rows[names[1]], &rows[names[2]], &rows[names[3]]
		for _, j := range live.list() {
			x := d[j&(hidden-1)]
			a[j&(hidden-1)] += x
			b[j&(hidden-1)] += x
			c[j&(hidden-1)] += x
			e[j&(hidden-1)] += x
		}
	}
	for _, f := range names {
		add(&rows[f], d)
	}
}

func add(sum, x *row) {
	for j := range sum {
		sum[j] += x[j]
	}
}

// dot is the product of two rows over the live units.
func dot(w, h *row, live *units) float32 {
	var even, odd float32
	list := live.list()
	for ; len(list) >= 2; list = list[2:] {
		a, b := list[0]&(hidden-1), list[1]&(hidden-1)
		even += float32(w[a] * h[a])
		odd += float32(w[b] * h[b])
	}
	for _, a := range list {
		even += float32(w[a&(hidden-1)] * h[a&(hidden-1)])
	}
	return even + odd
}

// units is the list of a layer's units that ReLU lets through.
type units struct {
	n     int
	index [hidden]uint8
}

func (u *units) at(i int) int  { return int(u.index[i&(hidden-1)]) & (hidden - 1) }
func (u *units) list() []uint8 { return u.index[:min(u.n, hidden)] }

// rectify is ReLU; it lists the units left. It has no branches, as half of them
// would be mispredicted.
func (u *units) rectify(h *row) {
	n := 0
	for j := range h {
		bits := math.Float32bits(h[j])
		negative := bits >> 31
		h[j] = math.Float32frombits(bits & (negative - 1))
		u.index[n&(hidden-1)] = uint8(j)
		n += int(1 - negative)
	}
	u.n = n
}

// find lists the units above zero in a rectified layer.
func (u *units) find(h *row) {
	n := 0
	for j := range h {
		bits := math.Float32bits(h[j])
		u.index[n&(hidden-1)] = uint8(j)
		n += int((bits | -bits) >> 31)
	}
	u.n = n
}

// keep sets d to zero but for the listed units.
func (u *units) keep(d *row) {
	var kept row
	for _, j := range u.list() {
		kept[j&(hidden-1)] = d[j&(hidden-1)]
	}
	*d = kept
}
